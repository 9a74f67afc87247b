(() => {
  const D = window.LOOK, PAGE = 24, $ = (id) => document.getElementById(id);
  const several = D.systems.length > 1;
  $("title").textContent = `What ${new Intl.ListFormat("en").format(D.systems)} say${several ? "" : "s"} of images`;
  $("about").textContent = D.about;
  $("notes").append(...D.notes.map((one) => put("li", {}, one)));
  $("table").append(
    put("thead", {}, put("tr", {}, put("th", { class: "stub" }, "system"), ...D.metrics.map((one) => put("th", { scope: "col" }, one.title)))),
    put("tbody", {}, ...D.systems.map((name, at) => put("tr", {}, put("th", { class: "stub model", scope: "row" }, name), ...D.corpus[at].map((value) => put("td", {}, fixed(value, 4)))))));
  if (D.tests.length) {
    document.querySelectorAll(".of-two").forEach((one) => one.removeAttribute("hidden"));
    const signed = (value) => (value > 0 ? "+" : "") + fixed(value, 4).replace("-", "−");
    const interval = (one) => (one.low == null ? "" : `${signed(one.low)} to ${signed(one.high)}`);
    $("tests").append(
      put("thead", {}, put("tr", {}, ...["metric", "systems", "difference", "95% interval", "p (Holm)"].map((name, at) => put("th", { class: at < 2 ? "stub" : "" }, name)))),
      put("tbody", {}, ...D.tests.map((one) => put("tr", {}, put("td", { class: "stub" }, one.metric), put("td", { class: "stub" }, `${one.model} − ${one.against}`),
        put("td", {}, signed(one.difference)), put("td", {}, interval(one)), put("td", {}, fixed(one.p_holm, 4))))));
    $("tests-said").textContent = D.tested;
  }

  const choice = { metric: 0, order: several ? "0-1" : "worst", words: "", shown: PAGE };
  const score = (image, system) => image.scores[system][choice.metric];
  const mean = (image) => image.scores.reduce((sum, of) => sum + of[choice.metric], 0) / image.scores.length;
  const [a, b] = [() => Number(choice.order.split("-")[0]), () => Number(choice.order.split("-")[1])];
  const orders = [];
  if (several) D.systems.forEach((one, i) => D.systems.forEach((other, j) => { if (i !== j) orders.push([`${i}-${j}`, `${one} better than ${other}`]); }));
  orders.push(["worst", several ? "worst on average" : "worst"], ["best", several ? "best on average" : "best"], ["order", "in the order of the file"]);
  const places = {
    worst: (one, other) => mean(one) - mean(other), best: (one, other) => mean(other) - mean(one), order: (one, other) => one.at - other.at,
  };
  const byDifference = (one, other) => (score(other, a()) - score(other, b())) - (score(one, a()) - score(one, b()));

  const select = (name, label, options, value) => put("label", {}, `${label} `, put("select", { name, onchange: (event) => { choice[name] = name === "metric" ? Number(event.target.value) : event.target.value; choice.shown = PAGE; render(); } },
    ...options.map(([key, text]) => put("option", { value: key, selected: String(key) === String(value) }, text))));
  $("filters").append(
    select("order", "Show", orders, choice.order), select("metric", "by", D.metrics.map((one, at) => [at, one.title]), 0),
    put("label", { class: "search" }, "Search captions ", put("input", { type: "search", placeholder: "dog beach", oninput: (event) => { choice.words = event.target.value; choice.shown = PAGE; render(); } })));
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("more").addEventListener("click", () => { choice.shown += PAGE; render(); });

  function card(image) {
    const answers = D.systems.map((name, system) => put("section", { class: "answer" }, put("h4", {}, name), put("p", {}, image.captions[system]),
      put("p", { class: "numbers" }, ...D.metrics.flatMap((one, at) => [put("span", {}, `${one.title} `, put("b", {}, fixed(image.scores[system][at], 3))), " "]))));
    return put("article", { class: "query", id: `image-${image.at}`, tabindex: "-1" }, put("header", {}, put("h3", {}, `Image ${image.id}`)),
      put("div", { class: "asked" }, pictured(image.at, image.picture, image.references[0] ?? ""), put("p", {}, "References:"), put("ul", {}, ...image.references.map((text) => put("li", {}, text)))),
      put("div", { class: "answers i2t" }, ...answers));
  }

  function render() {
    const words = choice.words.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (image) => [...image.captions, ...image.references].join(" ").toLowerCase();
    const found = D.images.filter((image) => words.every((word) => text(image).includes(word)));
    found.sort((one, other) => (places[choice.order] ?? byDifference)(one, other) || one.at - other.at);
    const kept = choice.order.includes("-") ? found.filter((image) => score(image, a()) > score(image, b())) : found;
    $("said").textContent = `${count(kept.length)} of ${count(D.total)} images${D.images.length < D.total ? `, from the ${count(D.images.length)} on this page` : ""}.`;
    $("cards").replaceChildren(...kept.slice(0, choice.shown).map(card));
    $("more").hidden = kept.length <= choice.shown;
  }
  render();
})();
