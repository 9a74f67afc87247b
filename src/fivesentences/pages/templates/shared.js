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

// The switch of the theme, and the menu, which a narrow screen folds.
{
  const root = document.documentElement;
  const button = document.querySelector("[data-theme-switch]"), system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const label = () => { button.textContent = dark() ? "Light page" : "Dark page"; };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("fivesentences-theme", root.dataset.theme); } catch { /* not remembered, then */ }
    label();
  });
  system.addEventListener("change", label);
  label();
  const wide = matchMedia("(min-width: 60.01rem)"), menu = document.querySelector("details.menu");
  menu.open = wide.matches;
  wide.addEventListener("change", () => { menu.open = wide.matches; });
  menu.addEventListener("click", (event) => { if (event.target.closest("a") && !wide.matches) menu.open = false; });
}
