"use strict";
// Texts of captions and names of files are only ever set as text, never as markup.
const put = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((one) => one != null));
  return element;
};
const fixed = (value, digits) => (value == null ? "" : value.toFixed(digits));
const count = (value) => value.toLocaleString("en");

// What an image is shown by: its thumbnail, or words in its place.
const pictured = (image, one, text) => (one?.width
  ? put("img", { src: `thumbnails/${String(image).padStart(5, "0")}.webp`, width: one.width, height: one.height, alt: text, title: one.id, loading: "lazy" })
  : put("span", { class: "no-picture" }, (one?.broken ? `Image ${one.id} cannot be decoded: ` : `Image ${one?.id ?? image}: `) + text));
