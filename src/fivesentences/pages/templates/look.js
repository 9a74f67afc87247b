(() => {
  const D = window.LOOK, PAGE = 24;
  const NAMES = { i2t: "Images to captions", t2i: "Captions to images" };
  const $ = (id) => document.getElementById(id);

  const SVG = "http://www.w3.org/2000/svg";
  const draw = (tag, attributes = {}, ...children) => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const colour = (at) => `var(--c${at % 7})`;

  const captions = new Map(D.captions.map(([at, image, text]) => [at, { image, text }]));
  const pictures = new Map(D.pictures.map(([at, id, width, height, broken]) => [at, { id, width, height, broken }]));
  const captionsOf = new Map();
  for (const [at, { image }] of captions) captionsOf.set(image, [...(captionsOf.get(image) ?? []), at]);
  const asked = Object.keys(D.sides);
  const placeOf = Object.fromEntries(asked.map((side) => [side, new Map(D.sides[side].queries.map((query, at) => [query, at]))]));
  const ownerOf = (side, query) => (side === "i2t" ? query : captions.get(query).image);
  const isOwn = (side, query, item) => (side === "i2t" ? captions.get(item).image === query : item === captions.get(query).image);
  const firstCaption = (image) => captions.get((captionsOf.get(image) ?? [])[0])?.text ?? "";
  const missed = (side, model, at) => D.sides[side].answers[model].rank[at] > D.k;
  const rankSaid = (rank) => (D.reach && rank > D.reach ? `beyond ${count(D.reach)}` : count(rank));

  const picture = (image) => pictured(image, pictures.get(image), firstCaption(image));

  // --- numbers -----------------------------------------------------------------------------------------------
  $("title").textContent = `What ${new Intl.ListFormat("en").format(D.models)} retrieve${D.models.length > 1 ? "" : "s"}`;
  $("about").textContent = `${D.about}. Chance: what a ranking in random order reaches on average.`;
  $("summary").append(...D.summary.map((one) => put("li", {}, one)));
  $("notes").append(
    ...D.notes.map((one) => put("li", {}, one)),
    put("li", {}, `R@k: percent of queries with an own item among the first k. NCS@k: summed φ of the first k, in percent of the largest sum that k items could reach (released formula); GT removed: without the query’s own items. Its chance level depends on φ and on the gallery, so NCS by one φ says little about NCS by another.`),
    put("li", {}, `Equal to the numbers of “fivesentences evaluate”; ${D.tie}.`));
  {
    const head = put("tr", {}, put("th", { class: "stub" }), put("th", { class: "stub" }));
    const below = put("tr", {}, put("th", { class: "stub" }, "metric"), put("th", { class: "stub" }, "model"));
    for (const side of asked) {
      head.append(put("th", { class: "span", colspan: D.headlines.length, scope: "colgroup" }, put("span", {}, NAMES[side])));
      below.append(...D.headlines.map((k) => put("th", { scope: "col" }, `@${k}`)));
    }
    const body = put("tbody");
    let last = "";
    for (const row of D.numbers) {
      const name = [row.metric, row.phi, row.ground_truth && `GT ${row.ground_truth}`].filter(Boolean).join(" ");
      const cells = asked.flatMap((side) => row.values[side].map((value) => put("td", {}, fixed(value, 2))));
      body.append(put("tr", { class: `${row.model === "chance" ? "chance" : ""} ${name === last ? "" : "first"}` },
        put("th", { class: "stub", scope: "row" }, name === last ? "" : name), put("td", { class: "model" }, row.model), ...cells));
      last = name;
    }
    $("table").append(put("thead", {}, head, below), body);
  }
  for (const legend of document.querySelectorAll("[data-legend]")) {
    legend.append(...D.models.map((name, at) => put("span", {}, put("i", { style: `border-color: ${colour(at)}` }), name)),
      put("span", {}, put("i", { class: "dotted" }), "chance"));
  }

  // --- charts ------------------------------------------------------------------------------------------------
  const WIDTH = 380, HEIGHT = 250, LEFT = 36, RIGHT = 10, TOP = 8, BOTTOM = 34;
  function axes(title, xName, yName, xTicks, x, y, yTicks) {
    const svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title });
    for (const [value, name] of yTicks)
      svg.append(draw("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
        draw("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, name ?? value));
    for (const [value, name] of xTicks)
      svg.append(draw("text", { x: x(value), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle", class: xTicks.length > 7 ? "small" : "" }, name ?? value));
    svg.append(draw("text", { x: WIDTH - RIGHT, y: HEIGHT - 2, "text-anchor": "end" }, xName), draw("text", { x: 0, y: TOP - 12 }, yName));
    return { svg, figure: put("figure", { class: "chart" }, put("figcaption", {}, title), svg) };
  }
  const percents = [0, 25, 50, 75, 100].map((value) => [value]);
  const height = (most = 100) => (value) => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - TOP) * value) / most;
  const along = (low, high) => (value) =>
    LEFT + 8 + ((WIDTH - LEFT - RIGHT - 16) * (Math.log(value) - Math.log(low))) / (Math.log(high) - Math.log(low) || 1);

  $("curves-said").textContent = `In percent. Bands: ${D.confidence}% intervals by a bootstrap over images, each with its captions. NCS by ${D.phis[0]}; the axis of k is logarithmic.`;
  for (const [metric, kept] of [["R", ""], ["NCS", "kept"], ["NCS", "removed"]]) {
    for (const side of asked) {
      const name = metric === "R" ? "Recall@k" : `NCS@k, own items ${kept}`;
      const x = along(D.ks[0], D.ks.at(-1)), y = height();
      const { svg, figure } = axes(`${name}, ${NAMES[side].toLowerCase()}`, "k", "", D.ks.map((k) => [k]), x, y, percents);
      D.models.forEach((model, at) => {
        const line = D.lines[model].find((one) => one.metric === metric && one.ground_truth === kept && one.direction === side);
        const path = (values) => values.map((value, place) => `${x(line.ks[place]).toFixed(1)},${y(value).toFixed(1)}`);
        if (at === 0) svg.append(draw("polyline", { class: "chance", points: path(line.chance).join(" ") }));
        if (line.low.every((one) => one !== null))
          svg.append(draw("polygon", { class: "band", fill: colour(at), points: [...path(line.low), ...path(line.high).reverse()].join(" ") }));
        svg.append(draw("polyline", { class: "line", stroke: colour(at), points: path(line.values).join(" ") }));
        line.values.forEach((value, place) => {
          const ends = line.low[place] === null ? "" : ` [${fixed(line.low[place], 1)}, ${fixed(line.high[place], 1)}]`;
          svg.append(draw("circle", { cx: x(line.ks[place]), cy: y(value), r: 3, fill: colour(at) },
            draw("title", {}, `${model}, k = ${line.ks[place]}: ${fixed(value, 1)}${ends}; chance ${fixed(line.chance[place], 1)}`)));
        });
      });
      $("curve-charts").append(figure);
    }
  }

  for (const side of asked) {
    const ks = D.ks, names = ks.map((k, at) => (at === 0 || ks[at - 1] + 1 === k ? `${k}` : `${ks[at - 1] + 1}–${k}`));
    names.push(`>${ks.at(-1)}`);
    const shares = (values) => [...values, 100].map((value, at) => value - (at ? values[at - 1] : 0));
    const lines = D.models.map((model) => D.lines[model].find((one) => one.metric === "R" && one.direction === side));
    const every = [...lines.map((line) => shares(line.values)), shares(lines[0].chance)];
    const most = Math.max(10, Math.ceil(Math.max(...every.flat()) / 10) * 10), y = height(most);
    const step = (WIDTH - LEFT - RIGHT) / names.length, x = (at) => LEFT + step * (at + 0.5);
    const { svg, figure } = axes(NAMES[side], "rank", "", names.map((name, at) => [at, name]), x, y, [0, most / 2, most].map((v) => [v]));
    const wide = (step * 0.8) / lines.length;
    lines.forEach((line, model) => every[model].forEach((share, at) => {
      svg.append(draw("rect", { x: x(at) - step * 0.4 + wide * model, y: y(share), width: wide * 0.92, height: Math.max(0, y(0) - y(share)), fill: colour(model) },
        draw("title", {}, `${D.models[model]}, rank ${names[at]}: ${fixed(share, 1)}%; chance ${fixed(every.at(-1)[at], 1)}%`)));
    }));
    every.at(-1).forEach((share, at) => svg.append(draw("line", { class: "chance", x1: x(at) - step * 0.45, x2: x(at) + step * 0.45, y1: y(share), y2: y(share) })));
    $("rank-charts").append(figure);
  }

  // --- cloud -------------------------------------------------------------------------------------------------
  const partly = asked.filter((side) => D.sides[side].queries.length < D.sides[side].total);
  const shownOf = partly.map((side) => `${count(D.sides[side].queries.length)} of ${count(D.sides[side].total)} ${side === "i2t" ? "images" : "captions"}`).join(", ");
  $("cloud-said").textContent = `Each point is a query: across, the rank of its first own item (equal ranks are spread a little); up, the NCS@${D.k} of its answer by ${D.phis[0]}. At the upper right recall calls a good answer wrong. A point opens its query; with the keyboard: arrows, then Enter.${shownOf ? ` Shown are ${shownOf}.` : ""}`;
  const choice = (id, name, options, change) => put("label", {}, `${name} `, put("select", { id, onchange: change }, ...options.map(([value, text]) => put("option", { value }, text))));
  const models = D.models.map((name, at) => [at, name]);
  $("cloud-form").append(choice("cloud-model", "Model", models, cloud));
  $("cloud-form").addEventListener("submit", (event) => event.preventDefault());
  function cloud() {
    const model = Number($("cloud-model").value);
    $("cloud-charts").replaceChildren();
    for (const side of asked) {
      const { queries, answers } = D.sides[side], { rank, ncs } = answers[model];
      const longest = Math.max(10, ...D.models.map((_, at) => Math.max(...answers[at].rank)));
      const x = along(0.85, longest * 1.15), y = height();
      const ticks = [1, 10, 100, 1000, 10000, 100000].filter((value) => value <= longest).map((value) => [value, count(value)]);
      const { svg, figure } = axes(NAMES[side], "rank of the first own item", "", ticks, x, y, percents);
      const edge = x(D.k + 0.5);
      svg.append(draw("line", { class: "axis", x1: edge, x2: edge, y1: TOP, y2: HEIGHT - BOTTOM, "stroke-dasharray": "4 3" }),
        draw("text", { x: edge + 4, y: TOP + 8 }, `missed by R@${D.k}`));
      const order = queries.map((_, at) => at).sort((a, b) => rank[a] - rank[b] || ncs[b] - ncs[a]);
      const circles = order.map((at) => {
        // Less than half a rank, so that none crosses the line.
        const spread = (((queries[at] * 2654435761) % 4294967296) / 2147483648 - 1) * Math.min(0.13, 0.45 / rank[at]);
        const circle = draw("circle", { class: "point", cx: x(rank[at] * (1 + spread)).toFixed(1), cy: y(Math.min(100, ncs[at])).toFixed(1), r: 4, fill: colour(model), "data-at": at });
        circle.append(draw("title", {}, saidOf(side, model, at)));
        return circle;
      });
      svg.append(...circles);
      svg.setAttribute("tabindex", "0");
      svg.setAttribute("role", "application");
      svg.setAttribute("aria-label", `${NAMES[side]}: ${order.length} queries by rank; arrows choose one, Enter opens it`);
      const live = put("p", { class: "links", role: "status" });
      let current = -1;
      const goTo = (next) => {
        circles[current]?.classList.remove("at");
        current = Math.min(Math.max(next, 0), circles.length - 1);
        circles[current].classList.add("at");
        svg.append(circles[current]);
        live.textContent = saidOf(side, model, order[current]);
      };
      svg.addEventListener("click", ({ target }) => {
        const at = target.closest(".point")?.dataset.at;
        if (at !== undefined) open(side, Number(at), order);
      });
      svg.addEventListener("keydown", (event) => {
        const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 25, PageUp: -25, Home: -1e9, End: 1e9 }[event.key];
        if (by) goTo(current + by);
        else if (event.key === "Enter" && current >= 0) open(side, order[current], order);
        else return;
        event.preventDefault();
      });
      figure.append(live);
      $("cloud-charts").append(figure);
    }
  }
  const titleOf = (side, query) => (side === "i2t" ? `Image ${pictures.get(query)?.id ?? query}` : captions.get(query).text);
  const saidOf = (side, model, at) => {
    const { rank, ncs } = D.sides[side].answers[model];
    return `${titleOf(side, D.sides[side].queries[at])}: rank ${rankSaid(rank[at])}, NCS ${fixed(ncs[at], 1)}`;
  };

  // --- one query ---------------------------------------------------------------------------------------------
  function card(side, at, prefix = "") {
    const of = D.sides[side], query = of.queries[at], image = ownerOf(side, query), id = `${side}-${query}`;
    const own = side === "i2t" ? "own caption" : "own image";
    const phi = (value) => {
      const part = of.best[at] > 0 ? Math.min(100, Math.round((100 * value) / of.best[at])) : value > 0 ? 100 : 0;
      return put("span", { class: "phi" }, put("span", {}, "φ"), put("b", {}, fixed(value, 2)), put("i", { class: "bar", style: `--part: ${part}%` }));
    };
    const answers = D.models.map((name, model) => {
      const { rank, ncs, items, phi: values } = of.answers[model], hit = rank[at] <= D.k;
      const listed = items[at].map((item, place) => {
        const mine = isOwn(side, query, item);
        return put("li", { class: `item${mine ? " own" : ""}` },
          side === "i2t" ? put("span", { class: "text" }, captions.get(item).text) : picture(item),
          mine ? put("b", { class: "own-mark" }, own) : null, phi(values[at][place]));
      });
      return put("section", { class: "answer" }, put("h4", {}, name),
        put("p", { class: "numbers" }, put("span", { class: `hit ${hit ? "found" : "missed"}` }, `R@${D.k}: ${hit ? "found" : "missed"}`),
          put("span", {}, `first own at rank ${rankSaid(rank[at])}`),
          put("span", { class: "ncs" }, `NCS@${D.k} `, put("b", {}, fixed(ncs[at], 1)), put("i", { class: "bar", style: `--part: ${Math.min(100, Math.round(ncs[at]))}%` }))),
        put("ol", { class: "items" }, ...listed));
    });
    const texts = (captionsOf.get(image) ?? []).map((one) => put("li", {}, captions.get(one).text));
    return put("article", { class: "query", id: prefix + id, tabindex: "-1", "data-at": at, "data-side": side, "aria-labelledby": `${prefix}${id}-title` },
      put("header", {}, put("h3", { id: `${prefix}${id}-title` }, titleOf(side, query), " ", put("a", { class: "permalink", href: `#${id}`, "aria-label": "Link to this query" }, "#")),
        put("ul", { class: "reasons" }, put("li", {}, NAMES[side]), put("li", {}, `query ${id}`))),
      put("div", { class: "asked" }, picture(image), put("p", {}, side === "i2t" ? "Its own captions:" : `Its own image, ${pictures.get(image)?.id ?? image}.`), side === "i2t" ? put("ul", {}, ...texts) : null),
      put("div", { class: `answers ${side}` }, ...answers));
  }
  const dialog = $("dialog");
  let opened = null;
  function open(side, at, order) {
    opened = { side, at, order: order ?? shown.filter((one) => one.side === side).map((one) => one.at) };
    $("dialog-body").replaceChildren(card(side, at, "open-"));
    history.replaceState(null, "", `#${side}-${D.sides[side].queries[at]}`);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
  }
  const stepOpened = (by) => {
    const next = opened.order[opened.order.indexOf(opened.at) + by];
    if (next !== undefined) open(opened.side, next, opened.order);
  };
  for (const button of dialog.querySelectorAll("[data-step]")) button.addEventListener("click", () => stepOpened(Number(button.dataset.step)));
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => history.replaceState(null, "", location.pathname + location.search));

  // --- where models differ -----------------------------------------------------------------------------------
  if (D.models.length > 1) {
    for (const one of document.querySelectorAll(".of-two")) one.hidden = false;
    const body = $("differences-body");
    if (D.tests.length) {
      const rows = D.tests.map((one) => put("tr", {}, put("td", { class: "stub" }, one.metric.replace(/^N@/, "NCS@")), put("td", { class: "stub" }, NAMES[one.direction]),
        put("td", { class: "stub" }, `${one.model} − ${one.against}`), put("td", {}, fixed(one.a, 2)), put("td", {}, fixed(one.b, 2)), put("td", {}, (one.difference > 0 ? "+" : "") + fixed(one.difference, 2).replace("-", "−")),
        put("td", {}, one.low === null ? "" : `${fixed(one.low, 2)} to ${fixed(one.high, 2)}`.replaceAll("-", "−")), put("td", {}, fixed(one.p, 4)), put("td", {}, fixed(one.p_holm, 4))));
      body.append(put("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Tests" }, put("table", {}, put("thead", {}, put("tr", {}, ...["metric", "", "models", "first", "second", "difference", "95% interval", "p", "p (Holm)"].map((name, at) => put("th", { class: at < 3 ? "stub" : "" }, name)))), put("tbody", {}, ...rows))),
        put("ul", { class: "notes" }, put("li", {}, `Paired permutation tests by query; an image and its captions are one cluster. NCS by ${D.phis[0]}, own items kept. Holm: adjusted for the pairs of models of each metric. One run of each model: this says nothing about training again.`)));
    }
    for (const one of D.agreement) {
      const [both, first, second, neither] = one.counts.map(count);
      body.append(put("p", {}, put("b", {}, `${NAMES[one.direction]}: `), `both models find ${both} queries at ${D.k}, ${one.first} alone ${first}, ${one.second} alone ${second}, neither ${neither}. NCS is higher for ${one.first} on ${count(one.better[0])} and for ${one.second} on ${count(one.better[1])}. `,
        put("button", { type: "button", class: "open", onclick: () => choose({ direction: one.direction, model: D.models.indexOf(one.second), kind: "differ" }) }, "Show where they differ most")));
    }
  }

  // --- hubs --------------------------------------------------------------------------------------------------
  for (const side of [...asked].reverse()) {
    const queries = side === "t2i" ? "captions" : "images", items = side === "t2i" ? "images" : "captions";
    D.hubs[side].forEach((one) => {
      $("hubs-body").append(put("h3", {}, `${one.model}: ${items} returned most often`),
        put("p", { class: "links" }, `Among the first ${D.k} of so many of ${count(D.sides[side].total)} ${queries}; ${fixed(one.expected, 1)} is the mean. ${count(one.never)} of ${count(one.gallery)} ${items} are never returned.`),
        put("ul", { class: `hubs ${side === "i2t" ? "of-texts" : ""}` }, ...one.items.map(([item, often]) =>
          put("li", {}, side === "t2i" ? picture(item) : put("span", {}, captions.get(item).text), put("p", {}, put("b", {}, count(often)), ` × `, side === "t2i" ? String(pictures.get(item)?.id ?? item) : "")))));
    });
  }

  // --- gallery -----------------------------------------------------------------------------------------------
  const KINDS = {
    all: ["All, in the file’s order", () => true, (one) => one.at],
    missed: ["Missed by recall, answered best", (one, m) => missed(one.side, m, one.at), (one, m) => -value(one, m, "ncs")],
    found: ["Found by recall, answered worst", (one, m) => !missed(one.side, m, one.at), (one, m) => value(one, m, "ncs")],
    worst: ["Worst ranks", (one, m) => missed(one.side, m, one.at), (one, m) => -value(one, m, "rank")],
    best: ["Answered best", () => true, (one, m) => -value(one, m, "ncs")],
  };
  if (D.models.length > 1) {
    const other = (m) => (m === 0 ? 1 : 0), gap = (one, m) => Math.abs(value(one, m, "ncs") - value(one, other(m), "ncs"));
    const own = (one, m) => D.sides[one.side].answers[m].items[one.at].filter((item) => isOwn(one.side, D.sides[one.side].queries[one.at], item)).sort().join();
    KINDS.differ = ["Models differ most in NCS", () => true, (one, m) => -gap(one, m)];
    KINDS.equal = ["Recall calls models equal, NCS differs most", (one, m) => own(one, m) === own(one, other(m)), (one, m) => -gap(one, m)];
    KINDS.ranks = ["Models differ most in rank", () => true, (one, m) => -Math.abs(Math.log(value(one, m, "rank") / value(one, other(m), "rank")))];
    KINDS.one = ["Found by the other model alone", (one, m) => missed(one.side, m, one.at) && !missed(one.side, other(m), one.at), (one, m) => -value(one, m, "rank")];
  }
  const value = (one, model, key) => D.sides[one.side].answers[model][key][one.at];
  const every = asked.flatMap((side) => D.sides[side].queries.map((query, at) => ({ side, at, text: null, query })));
  const textOf = (one) => {
    if (one.text === null) {
      const image = ownerOf(one.side, one.query), texts = [titleOf(one.side, one.query), String(pictures.get(image)?.id ?? image)];
      if (one.side === "i2t") texts.push(...(captionsOf.get(image) ?? []).map((at) => captions.get(at).text));
      for (const answer of D.sides[one.side].answers)
        texts.push(...answer.items[one.at].map((item) => (one.side === "i2t" ? captions.get(item).text : firstCaption(item))));
      one.text = texts.join("\n").toLowerCase();
    }
    return one.text;
  };
  const otherSaid = D.models.length > 2 ? " The other model is the first, or the second for the first." : "";
  $("gallery-said").textContent = `Numbers beside items are φ (${D.phis[0]}) of query and item; a full bar is the largest φ of an item that is not the query’s own.${partly.length ? ` On this page are ${shownOf}: those that each of these criteria finds first over all queries, and others drawn at random.` : ""}${otherSaid}`;
  const filters = $("filters");
  filters.append(
    choice("direction", "Direction", [...(asked.length > 1 ? [["", "both"]] : []), ...asked.map((side) => [side, NAMES[side]])], filter),
    choice("kind", "Show", Object.entries(KINDS).map(([key, [name]]) => [key, name]), filter),
    choice("model", "by", models, filter),
    put("label", { class: "search" }, "Search captions ", put("input", { type: "search", id: "words", placeholder: "dog beach", oninput: () => { clearTimeout(waiting); waiting = setTimeout(filter, 150); } })));
  filters.addEventListener("submit", (event) => event.preventDefault());
  let waiting = 0, shown = [], cards = 0;
  if (asked.includes("t2i")) $("direction").value = "t2i";
  $("kind").value = "missed";
  function filter() {
    const side = $("direction").value, model = Number($("model").value), [, fits, by] = KINDS[$("kind").value];
    const words = $("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = every.filter((one) => (!side || one.side === side) && fits(one, model) && words.every((word) => textOf(one).includes(word)));
    const keys = new Map(shown.map((one) => [one, by(one, model)]));
    shown.sort((a, b) => keys.get(a) - keys.get(b) || a.query - b.query);
    $("said").textContent = `${count(shown.length)} of ${count(every.length)} queries on this page.`;
    $("cards").replaceChildren();
    cards = 0;
    more();
  }
  function more() {
    const some = shown.slice(cards, cards + PAGE);
    $("cards").append(...some.map((one) => card(one.side, one.at)));
    cards += some.length;
    $("more").hidden = cards >= shown.length;
    $("more").textContent = `Show more (${count(shown.length - cards)})`;
  }
  function choose({ direction, model, kind }) {
    Object.assign($("direction"), { value: direction });
    Object.assign($("model"), { value: String(model) });
    Object.assign($("kind"), { value: kind });
    filter();
    $("gallery").scrollIntoView();
  }
  function step(by) {
    const all = [...$("cards").children], at = all.indexOf(document.activeElement?.closest?.("#cards > .query"));
    let next = at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by;
    if (next >= all.length && cards < shown.length) more();
    const one = $("cards").children[Math.min(Math.max(next, 0), $("cards").children.length - 1)];
    one?.scrollIntoView({ block: "start" });
    one?.focus({ preventScroll: true });
  }
  $("more").addEventListener("click", more);
  $("next").addEventListener("click", () => step(1));
  $("previous").addEventListener("click", () => step(-1));
  $("reset").addEventListener("click", () => { $("words").value = ""; choose({ direction: asked.length > 1 ? "" : asked[0], model: 0, kind: "all" }); });
  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input:not([type=checkbox]), select, textarea");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const by = { j: 1, k: -1 }[event.key];
    if (by) dialog.open ? stepOpened(by) : step(by);
    else if (event.key === "/" && !dialog.open) $("words").focus();
    else return;
    event.preventDefault();
  });

  // --- order -------------------------------------------------------------------------------------------------
  if (D.images) {
    for (const one of document.querySelectorAll(".of-images")) one.hidden = false;
    $("order-said").textContent = D.images.named_by
      ? `Photographs are those that ${D.images.named_by} names, from ${D.images.source}. Compare some with their captions:`
      : `Nothing names the photographs, so those of ${D.images.source} in their own order (of names in a folder, of entries in an archive) are taken to be the rows of the similarity. Another order of as many photographs would go unnoticed: compare these with their captions. If they do not fit, name the photograph of each row by --image-ids FILE.`;
    $("order-body").append(...D.checked.map((image) => put("div", {}, picture(image), put("p", {}, put("b", {}, `${image}: ${pictures.get(image)?.id ?? ""} `), firstCaption(image)))));
    $("order-body").after(put("ul", { class: "notes" }, ...D.images.said.map((one) => put("li", {}, one))));
  }

  cloud();
  filter();
  function arrive() {
    const [, side, query] = location.hash.match(/^#(i2t|t2i)-(\d+)$/) ?? [];
    const at = side && placeOf[side]?.get(Number(query));
    if (at !== undefined && at !== "") open(side, at);
  }
  addEventListener("hashchange", arrive);
  arrive();
})();
