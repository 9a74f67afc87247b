(() => {
  const root = document.documentElement;

  // The switch says what it changes to.
  const button = document.querySelector("[data-theme-switch]");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const label = () => { button.textContent = dark() ? "Light page" : "Dark page"; };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("fivesentences-theme", root.dataset.theme); } catch { /* not remembered, then */ }
    label();
  });
  system.addEventListener("change", label);
  label();

  // A narrow screen begins with the menu folded, a wide one shows it always.
  const wide = matchMedia("(min-width: 60.01rem)"), menu = document.querySelector("details.menu");
  wide.addEventListener("change", () => { menu.open = wide.matches; });
  menu.addEventListener("click", (event) => { if (event.target.closest("a") && !wide.matches) menu.open = false; });

  const headings = "h2[id]:not(.js-toc-ignore), h3[id]:not(.js-toc-ignore)";
  if (document.querySelector(`main :is(${headings})`)) {
    document.querySelector("nav.outline").hidden = false;
    tocbot.init({ contentSelector: "main", headingSelector: headings, scrollSmooth: false, hasInnerContainers: true,
      collapseDepth: 6, headingsOffset: 40, tocScrollingWrapper: document.querySelector(".side") });
  }

  // Numbers by value, missing ones lowest.
  const value = (text) => (text.trim() === "" ? -Infinity : Number(text));
  Tablesort.extend("value", () => false, (a, b) => value(b) - value(a) || 0);
  for (const table of document.querySelectorAll("table.sortable")) new Tablesort(table);

  // A table that is too wide says so.
  const widths = new ResizeObserver((seen) => {
    for (const { target } of seen) {
      const wide = target.firstElementChild.offsetWidth > target.clientWidth + 1;
      target.classList.toggle("scrolls", wide);
      target.classList.toggle("fits", target.clientWidth > 0 && !wide); // what is folded has no width yet
    }
  });
  for (const region of document.querySelectorAll("main .scroll")) widths.observe(region);
})();
