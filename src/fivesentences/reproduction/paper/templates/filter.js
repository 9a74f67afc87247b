// A line is shown if it has every word that was typed.
for (const field of document.querySelectorAll("input[data-filters]")) {
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const line of document.querySelectorAll(field.dataset.filters)) {
      line.hidden = !words.every((word) => line.textContent.toLowerCase().includes(word));
    }
  });
}
