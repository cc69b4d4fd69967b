// A grid of rows. They are kept here and written into a text area, tabs between the cells, which is what the form sends;
// without this script the text area itself is the grid.
//
// Its element (admin/console/grid.html) has `data-grid`, with which the ids begin, `data-columns`, `data-faults` (row,
// column and sentence) and the sentences `data-text-…`. With `data-fixed`, rows are neither added nor removed, and the
// first column names them.
"use strict";

const KilitGrid = (() => {
  const PAGE = 100; // rows in the page at once: there may be 5,000
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

  // Text as Excel copies it: tabs, lines, and quotes around cells that hold either.
  const parse = (text) => {
    const lines = [[""]];
    let quoted = false;
    for (let i = 0; i < text.length; i += 1) {
      const line = lines[lines.length - 1];
      const last = line.length - 1;
      const char = text[i];
      if (quoted && char === '"' && text[i + 1] === '"') { line[last] += '"'; i += 1; }
      else if (quoted && char === '"') quoted = false;
      else if (quoted) line[last] += char;
      else if (char === '"' && line[last] === "") quoted = true;
      else if (char === "\t") line.push("");
      else if (char === "\n") lines.push([""]);
      else if (char !== "\r") line[last] += char;
    }
    if (lines[lines.length - 1].join("") === "") lines.pop();
    return lines.map((line) => line.map((cell) => cell.replace(/\s+/g, " ").trim()));
  };
  const written = (rows) => rows
    .map((row) => row.cells.map((cell) => (cell.includes('"') ? `"${cell.replaceAll('"', '""')}"` : cell)).join("\t"))
    .join("\n");
  const isBlank = (row) => row.cells.every((cell) => !cell.trim());

  return class {
    constructor(root, { least = 0, onChange = () => {} } = {}) {
      this.form = root.closest("form");
      this.data = root.dataset;
      this.columns = JSON.parse(this.data.columns);
      this.indexOf = Object.fromEntries(this.columns.map((column, index) => [column.name, index]));
      this.isFixed = "fixed" in this.data;
      this.onChange = onChange;
      this.area = this.at("rows");
      this.body = this.at("grid").querySelector("tbody");
      this.rows = parse(this.area.value).map((cells) => ({ ...this.blank(), cells: this.columns.map((_, index) => cells[index] ?? "") }));
      while (this.rows.length < least) this.rows.push(this.blank());
      this.first = 0;
      this.current = [0, 0];
      this.isChanged = false;
      for (const [row, column, text] of JSON.parse(this.data.faults)) this.addFault(row, column, text);
      this.listen();
      this.at("plain").hidden = true;
      this.form.querySelectorAll("[data-with-script]").forEach((part) => { part.hidden = false; });
      this.render();
    }

    at(name) { return document.getElementById(`${this.data.grid}-${name}`); }
    blank() { return { cells: this.columns.map(() => ""), faults: {} }; }

    // A fault at its cell; a cell that is changed loses its fault.
    addFault(number, name, text) {
      const row = this.rows[number];
      if (row) row.faults[this.indexOf[name] ?? Number(this.isFixed)] = text;
      return row;
    }

    label(number, index) {
      const text = this.isFixed ? this.rows[number].cells[0] : number + 1;
      return `${this.columns[index].label}, ${fill(this.data.textRow, { number: text })}`;
    }

    cell(row, number, index) {
      const column = this.columns[index];
      const place = document.createElement("td");
      const input = document.createElement("input");
      Object.assign(input, { value: row.cells[index], placeholder: column.placeholder ?? "", autocomplete: "off", inputMode: column.mode ?? "text" });
      input.setAttribute("aria-label", this.label(number, index));
      if (column.list) input.setAttribute("list", column.list);
      Object.assign(input.dataset, { name: column.name, row: number, column: index });
      place.append(input);
      if (row.faults[index]) {
        const fault = document.createElement("small");
        Object.assign(fault, { id: `fault-${number}-${index}`, textContent: row.faults[index] });
        input.setAttribute("aria-invalid", "true");
        input.setAttribute("aria-describedby", fault.id);
        place.append(fault);
      }
      return place;
    }

    button(icon, text, number, act) {
      const made = document.createElement("button");
      Object.assign(made, { type: "button", className: "material-symbols-outlined md-18", textContent: icon, title: text });
      made.setAttribute("aria-label", `${text}, ${fill(this.data.textRow, { number: number + 1 })}`);
      made.addEventListener("click", act);
      return made;
    }

    tools(row, number) {
      const tools = document.createElement("td");
      tools.append(
        this.button("content_copy", this.data.textDuplicate, number, () => {
          const copy = { ...this.blank(), cells: [...row.cells] };
          copy.cells[this.indexOf.id] = ""; // ids are unique
          this.rows.splice(number + 1, 0, copy);
          this.changed();
          this.focus(number + 1, this.current[1]);
        }),
        this.button("delete", this.data.textRemove, number, () => {
          this.rows.splice(number, 1);
          if (!this.rows.length) this.rows.push(this.blank());
          this.changed();
          this.focus(Math.min(number, this.rows.length - 1), this.current[1]);
        }),
      );
      return tools;
    }

    line(row, number) {
      const made = document.createElement("tr");
      const head = document.createElement("th");
      Object.assign(head, { scope: "row", textContent: this.isFixed ? row.cells[0] : number + 1 });
      const cells = this.columns.map((_, index) => index).slice(Number(this.isFixed));
      made.append(head, ...cells.map((index) => this.cell(row, number, index)));
      if (!this.isFixed) made.append(this.tools(row, number));
      return made;
    }

    render() {
      const { rows } = this;
      this.first = Math.max(0, Math.min(this.first, Math.floor((rows.length - 1) / PAGE) * PAGE));
      const shown = rows.slice(this.first, this.first + PAGE);
      this.body.replaceChildren(...shown.map((row, index) => this.line(row, this.first + index)));
      this.at("back").hidden = this.first === 0;
      this.at("next").hidden = this.first + PAGE >= rows.length;
      const values = { first: this.first + 1, last: this.first + shown.length, all: rows.length };
      this.at("shown").textContent = rows.length > PAGE ? fill(this.data.textRows, values) : "";
    }

    focus(number, index) {
      if (number < this.first || number >= this.first + PAGE) {
        this.first = Math.floor(number / PAGE) * PAGE;
        this.render();
      }
      const input = this.body.querySelector(`[data-row="${number}"][data-column="${index}"]`);
      input?.focus();
      input?.select();
    }

    changed() {
      this.isChanged = true;
      this.render();
      this.onChange();
    }

    listen() {
      const { body, form } = this;
      body.addEventListener("focusin", (event) => {
        if (!event.target.matches("input")) return;
        this.current = [Number(event.target.dataset.row), Number(event.target.dataset.column)];
        event.target.dataset.was = event.target.value;
      });
      body.addEventListener("input", (event) => this.type(event.target));
      body.addEventListener("paste", (event) => this.paste(event));
      body.addEventListener("keydown", (event) => this.press(event));
      this.at("add")?.addEventListener("click", () => {
        this.rows.push(this.blank());
        this.changed();
        this.focus(this.rows.length - 1, 0);
      });
      this.at("fill").addEventListener("click", () => this.fillDown());
      this.at("back").addEventListener("click", () => { this.first -= PAGE; this.render(); });
      this.at("next").addEventListener("click", () => { this.first += PAGE; this.render(); });
      form.addEventListener("input", () => { this.isChanged = true; });
      form.addEventListener("submit", () => {
        while (this.rows.length && isBlank(this.rows[this.rows.length - 1])) this.rows.pop();
        this.area.value = written(this.rows);
        this.isChanged = false;
      }, true); // before htmx reads the form
      window.addEventListener("beforeunload", (event) => { if (this.isChanged && form.isConnected) event.preventDefault(); });
    }

    type(input) {
      const { row, column } = input.dataset;
      this.rows[row].cells[column] = input.value;
      delete this.rows[row].faults[column];
      input.removeAttribute("aria-invalid");
      input.removeAttribute("aria-describedby");
      input.nextElementSibling?.remove();
      this.onChange();
    }

    paste(event) {
      const text = event.clipboardData.getData("text/plain");
      if (!event.target.matches("input") || !/[\t\n]/.test(text.trimEnd())) return;
      event.preventDefault();
      const [top, left] = this.current;
      const pasted = parse(text);
      let isCut = false;
      pasted.forEach((cells, down) => {
        if (!this.rows[top + down] && !this.isFixed) this.rows.push(this.blank());
        const row = this.rows[top + down];
        cells.forEach((value, right) => {
          if (row && left + right < this.columns.length) {
            row.cells[left + right] = value;
            delete row.faults[left + right];
          } else if (value) isCut = true;
        });
      });
      this.changed();
      this.focus(top, left);
      const { textBeyond, textPasted } = this.data;
      this.at("said").textContent = fill(isCut ? textBeyond : textPasted, { rows: pasted.length });
    }

    move(event, down, right) {
      const [row, column] = [this.current[0] + down, this.current[1] + right];
      if (row < 0 || column < Number(this.isFixed) || column >= this.columns.length) return;
      event.preventDefault();
      if (row >= this.rows.length) {
        if (event.key !== "Enter" || this.isFixed) return;
        this.rows.push(this.blank());
        this.changed();
      }
      this.focus(row, column);
    }

    press(event) {
      const target = event.target;
      if (!target.matches("input") || event.altKey || event.isComposing) return;
      const isListOpen = target.list && target.value !== target.dataset.was; // arrows then choose from the list
      const isAll = target.selectionStart === 0 && target.selectionEnd === target.value.length;
      if (event.ctrlKey || event.metaKey) {
        const above = this.rows[this.current[0] - 1];
        if (event.key.toLowerCase() !== "d" || !above) return;
        event.preventDefault();
        target.value = above.cells[this.current[1]];
        target.dispatchEvent(new Event("input", { bubbles: true }));
      } else if (event.key === "Enter") this.move(event, event.shiftKey ? -1 : 1, 0);
      else if (event.key === "ArrowDown" && !isListOpen) this.move(event, 1, 0);
      else if (event.key === "ArrowUp" && !isListOpen) this.move(event, -1, 0);
      else if (event.key === "ArrowRight" && (isAll || target.selectionStart === target.value.length)) this.move(event, 0, 1);
      else if (event.key === "ArrowLeft" && (isAll || target.selectionEnd === 0)) this.move(event, 0, -1);
    }

    fillDown() {
      const [from, column] = this.current;
      const value = this.rows[from]?.cells[column] ?? "";
      for (const row of this.rows.slice(from + 1)) {
        if (!row.cells[column].trim() && !isBlank(row)) {
          row.cells[column] = value;
          delete row.faults[column];
        }
      }
      this.changed();
      this.focus(from, column);
    }
  };
})();

// Grids without a script of their own; they may arrive later. The first fault is where to type.
(() => {
  const begin = () => {
    for (const grid of document.querySelectorAll("[data-fixed]:not([data-begun])")) {
      grid.dataset.begun = "";
      const fault = new KilitGrid(grid).body.querySelector("[aria-invalid]");
      fault?.focus();
      fault?.select();
    }
  };
  for (const name of ["DOMContentLoaded", "htmx:afterSettle", "kilit:filled"]) document.addEventListener(name, begin);
})();
