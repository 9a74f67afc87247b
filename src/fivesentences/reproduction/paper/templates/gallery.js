// Alpine reads this when it starts, behind all scripts of the page.
document.addEventListener("alpine:init", () => {
  Alpine.data("gallery", () => ({
    direction: "", criterion: "", words: "", models: [], differ: false,
    cards: [], shown: [], every: [],

    init() {
      this.every = [...this.$root.querySelectorAll("fieldset input")].map((box) => box.value);
      this.models = [...this.every];
      this.cards = [...this.$root.querySelectorAll(".query")].map((element) => ({
        element,
        reasons: element.dataset.reasons.split(" "),
        hits: element.dataset.hits.split(" "),
        text: this.textOf(element),
      }));
      this.$watch("[direction, criterion, words, models, differ]", () => this.filter());
      this.filter();
      this.arrive();
    },

    // Titles and captions, those of retrieved images too; not what models and numbers are called.
    textOf(element) {
      const texts = [...element.querySelectorAll("h3, .asked li, .text")].map((one) => one.textContent);
      return [...texts, ...[...element.querySelectorAll("img")].map((one) => one.alt)].join("\n").toLowerCase();
    },

    get filtered() {
      return Boolean(this.direction || this.criterion || this.words || this.differ) || this.models.length < this.every.length;
    },
    get said() { return `${this.shown.length} of ${this.cards.length} queries shown.`; },

    reset() { Object.assign(this, { direction: "", criterion: "", words: "", models: [...this.every], differ: false }); },

    fits(card) {
      const { direction } = card.element.dataset;
      const hits = new Set(this.models.map((model) => card.hits[model]));
      return (!this.direction || direction === this.direction)
        && (!this.criterion || card.reasons.includes(this.criterion))
        && (!this.differ || hits.size > 1)
        && this.words.toLowerCase().split(/\s+/).every((word) => card.text.includes(word));
    },

    filter() {
      this.shown = this.cards.filter((card) => this.fits(card));
      for (const card of this.cards) card.element.hidden = !this.shown.includes(card);
      for (const side of this.$root.querySelectorAll("[data-side]"))
        side.hidden = !this.shown.some((card) => card.element.dataset.direction === side.dataset.side);
      for (const answer of this.$root.querySelectorAll("[data-model]")) answer.hidden = !this.models.includes(answer.dataset.model);
    },

    // A link to a query leads to it whatever is filtered.
    arrive() {
      const card = this.cards.find(({ element }) => `#${element.id}` === location.hash);
      if (!card) return;
      if (card.element.hidden) { this.reset(); this.filter(); }
      this.go(card);
    },

    go(card) {
      card.element.scrollIntoView({ block: "start" });
      card.element.focus({ preventScroll: true });
    },

    step(by) {
      if (!this.shown.length) return;
      const current = this.shown.findIndex(({ element }) => `#${element.id}` === location.hash);
      const last = this.shown.length - 1;
      const next = current < 0 ? (by > 0 ? 0 : last) : Math.min(Math.max(current + by, 0), last);
      history.replaceState(null, "", `#${this.shown[next].element.id}`);
      this.go(this.shown[next]);
    },

    key(event) {
      const typing = event.target.closest?.("input:not([type=checkbox]), select, textarea");
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "j") this.step(1);
      else if (event.key === "k") this.step(-1);
      else if (event.key === "/") this.$root.querySelector("input[type=search]").focus();
      else return;
      event.preventDefault();
    },
  }));
});
