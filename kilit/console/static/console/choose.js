// A long select (data-choose) becomes a field to type into. It offers the options that contain every word typed; the
// select stays in the form, hidden, with the value.
"use strict";

(() => {
  const MOST = 50;
  // Without accents, so that "ozer" finds "Özer", and also without dashes, so that 1234567890 finds 123-456-7890.
  const fold = (text) => text.toLowerCase().normalize("NFD").replace(/[\u0300-\u036f]/g, "").replace(/ı/g, "i").trim();

  class Chooser {
    constructor(select) {
      this.select = select;
      this.options = [...select.options].map((option) => {
        const text = fold(option.text);
        return { option, text: `${text} ${text.replace(/-/g, "")}` };
      });
      this.build();
      this.show();
    }

    build() {
      const { select } = this;
      const box = document.createElement("div");
      box.className = "kilit-choose";
      this.input = document.createElement("input");
      Object.assign(this.input, { type: "text", id: select.id, className: select.className, autocomplete: "off" });
      this.list = document.createElement("ul");
      Object.assign(this.list, { id: `${select.id}-options`, hidden: true });
      this.list.setAttribute("role", "listbox");
      const about = { role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": this.list.id };
      Object.entries(about).forEach(([name, value]) => this.input.setAttribute(name, value));
      this.input.placeholder = select.dataset.choose || select.options[0]?.text || "";
      for (const name of ["required", "autofocus", "data-focus", "aria-describedby", "aria-label"]) {
        if (select.hasAttribute(name)) this.input.setAttribute(name, select.getAttribute(name));
        select.removeAttribute(name);
      }
      select.id = `${select.id}-value`;
      select.hidden = true;
      select.before(box);
      box.append(this.input, this.list, select);
      this.input.addEventListener("input", () => this.open());
      this.input.addEventListener("focus", () => this.input.select());
      this.input.addEventListener("click", () => this.open(true));
      this.input.addEventListener("blur", () => this.leave());
      this.input.addEventListener("keydown", (event) => this.press(event));
      // Before the field loses the focus.
      this.list.addEventListener("mousedown", (event) => {
        event.preventDefault();
        const item = event.target.closest("[role=option]");
        if (item) this.choose(item.option);
      });
    }

    show() {
      const chosen = this.select.selectedOptions[0];
      this.input.value = chosen?.value ? chosen.text : "";
      this.close();
    }

    open(isWhole = false) {
      const words = isWhole ? [] : fold(this.input.value).split(/\s+/).filter(Boolean);
      const found = this.options.filter(({ option, text }) => option.value && words.every((word) => text.includes(word)));
      this.list.replaceChildren(...found.slice(0, MOST).map(({ option }, place) => this.item(option, place)));
      if (!found.length || found.length > MOST) {
        const note = document.createElement("li");
        note.textContent = found.length ? `… +${found.length - MOST}` : "–";
        this.list.append(note);
      }
      this.list.hidden = false;
      this.input.setAttribute("aria-expanded", "true");
      this.mark(isWhole ? null : this.items()[0]);
    }

    item(option, place) {
      const item = document.createElement("li");
      Object.assign(item, { id: `${this.list.id}-${place}`, textContent: option.text, option });
      item.setAttribute("role", "option");
      return item;
    }

    items() {
      return [...this.list.querySelectorAll("[role=option]")];
    }

    mark(item) {
      this.items().forEach((each) => each.setAttribute("aria-selected", String(each === item)));
      this.marked = item ?? null;
      this.input.setAttribute("aria-activedescendant", item?.id ?? "");
      item?.scrollIntoView({ block: "nearest" });
    }

    choose(option) {
      this.select.value = option.value;
      this.select.dispatchEvent(new Event("change", { bubbles: true }));
      this.show();
    }

    press(event) {
      const items = this.items();
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        if (this.list.hidden) this.open(true);
        else this.mark(items.at((items.indexOf(this.marked) + (event.key === "ArrowDown" ? 1 : -1)) % items.length));
      } else if (event.key === "Enter" && !this.list.hidden && this.marked) {
        event.preventDefault();
        this.choose(this.marked.option);
      } else if (event.key === "Escape" && !this.list.hidden) {
        event.stopPropagation(); // it closes the list, not the menu around it
        this.show();
      }
    }

    leave() {
      const empty = this.options.find(({ option }) => !option.value);
      if (!this.input.value.trim() && empty) this.choose(empty.option);
      else this.show(); // what was chosen last
    }

    close() {
      this.list.hidden = true;
      this.input.setAttribute("aria-expanded", "false");
      this.marked = null;
    }
  }

  const enhance = () => {
    // Not in the form that is copied for each new line.
    const found = [...document.querySelectorAll("select[data-choose]:not([hidden])")];
    found.filter((select) => !select.closest(".empty-form")).forEach((select) => new Chooser(select));
  };
  document.addEventListener("DOMContentLoaded", enhance);
  document.addEventListener("htmx:afterSettle", enhance);
  document.addEventListener("formset:added", enhance);
})();
