// The grid of an order's parts. The rows are kept here and written into the text area, which is what the form sends;
// without this script the text area itself is the grid.
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const form = document.getElementById("order-form");
  if (!form) return;
  const at = (id) => document.getElementById(id);
  const columns = JSON.parse(form.dataset.columns);
  const noEdges = JSON.parse(form.dataset.noEdges);
  const bands = [...at("edges").options].map((each) => each.value);
  const area = at("order-rows");
  const body = at("order-grid").querySelector("tbody");
  const PAGE = 100; // rows in the page at once: an order may have 5,000
  const indexOf = Object.fromEntries(columns.map((column, index) => [column.name, index]));
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const blank = () => ({ cells: columns.map(() => ""), faults: {} });
  const isBlank = (row) => row.cells.every((cell) => !cell.trim());

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

  const rows = parse(area.value).map((cells) => ({ ...blank(), cells: columns.map((_, index) => cells[index] ?? "") }));
  while (rows.length < 5) rows.push(blank());
  let first = 0;
  let current = [0, 0];
  let isChanged = false;

  // Faults of the last check, at their cells; a cell that is changed loses its fault.
  for (const link of document.querySelectorAll("#order-faults [data-row]")) {
    const row = rows[Number(link.dataset.row)];
    if (!row) continue;
    const column = indexOf[link.dataset.column] ?? 0;
    row.faults[column] = link.nextElementSibling.textContent;
    link.addEventListener("click", (event) => {
      event.preventDefault();
      focus(rows.indexOf(row), column);
    });
  }

  const label = (number, index) => `${columns[index].label}, ${fill(form.dataset.textRow, { number: number + 1 })}`;
  const cell = (row, number, index) => {
    const column = columns[index];
    const place = document.createElement("td");
    const input = document.createElement("input");
    Object.assign(input, { value: row.cells[index], placeholder: column.placeholder, autocomplete: "off", inputMode: column.mode });
    input.setAttribute("aria-label", label(number, index));
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
  };
  const button = (text, number, act) => {
    const made = document.createElement("button");
    Object.assign(made, { type: "button", textContent: text });
    made.setAttribute("aria-label", `${text}, ${fill(form.dataset.textRow, { number: number + 1 })}`);
    made.addEventListener("click", act);
    return made;
  };
  const line = (row, number) => {
    const made = document.createElement("tr");
    const head = document.createElement("th");
    Object.assign(head, { scope: "row", textContent: number + 1 });
    const tools = document.createElement("td");
    tools.append(
      button(form.dataset.textDuplicate, number, () => {
        const copy = { ...blank(), cells: [...row.cells] };
        copy.cells[indexOf.id] = ""; // ids are unique
        rows.splice(number + 1, 0, copy);
        changed();
        focus(number + 1, current[1]);
      }),
      button(form.dataset.textRemove, number, () => {
        rows.splice(number, 1);
        if (!rows.length) rows.push(blank());
        changed();
        focus(Math.min(number, rows.length - 1), current[1]);
      }),
    );
    made.append(head, ...columns.map((_, index) => cell(row, number, index)), tools);
    return made;
  };
  const render = () => {
    first = Math.max(0, Math.min(first, Math.floor((rows.length - 1) / PAGE) * PAGE));
    const shown = rows.slice(first, first + PAGE);
    body.replaceChildren(...shown.map((row, index) => line(row, first + index)));
    at("order-back").hidden = first === 0;
    at("order-next").hidden = first + PAGE >= rows.length;
    const values = { first: first + 1, last: first + shown.length, all: rows.length };
    at("order-shown").textContent = rows.length > PAGE ? fill(form.dataset.textRows, values) : "";
  };
  const input = (number, index) => body.querySelector(`[data-row="${number}"][data-column="${index}"]`);
  const focus = (number, index) => {
    if (number < first || number >= first + PAGE) {
      first = Math.floor(number / PAGE) * PAGE;
      render();
    }
    const found = input(number, index);
    found?.focus();
    found?.select();
  };

  // A number with a comma or a point, as the server reads it; NaN if it is none or could mean two.
  const number = (text) => {
    const typed = text.trim();
    if (/^[+-]?[1-9]\d{0,2}[.,]\d{3}$/.test(typed)) return NaN;
    if (/^[+-]?\d+([.,]\d+)?$/.test(typed)) return Number(typed.replace(",", "."));
    const grouped = /^[+-]?\d{1,3}([., '\u2019\u00a0\u202f])\d{3}(\1\d{3})*((?!\1)[.,]\d+)?$/.exec(typed);
    return grouped ? Number(typed.replaceAll(grouped[1], "").replace(",", ".")) : NaN;
  };
  const shown = (value, digits) => value.toLocaleString(document.documentElement.lang, { maximumFractionDigits: digits });
  const isBacking = (text) => /^(arkal[ıi]k|backing)$/i.test(text.trim());
  const total = () => {
    const metres = form.elements.unit.value === "cm" ? 0.01 : 0.001;
    const edges = new Map();
    let pieces = 0;
    let surface = 0;
    for (const { cells } of rows) {
      const of = (name) => cells[indexOf[name]];
      const [length, width, quantity] = ["length", "width", "quantity"].map((name) => number(of(name)));
      if (!Number.isInteger(quantity) || quantity < 1) continue;
      pieces += quantity;
      if (length > 0 && width > 0) surface += length * width * metres * metres * quantity;
      if (isBacking(of("part_type"))) continue;
      for (const [name, side] of [["edge_up", length], ["edge_lo", length], ["edge_sx", width], ["edge_dx", width]]) {
        const typed = of(name).trim();
        const band = bands.find((each) => each.toLowerCase() === typed.toLowerCase()) ?? typed;
        if (band && band !== "0" && !noEdges.includes(band) && side > 0) {
          edges.set(band, (edges.get(band) ?? 0) + side * metres * quantity);
        }
      }
    }
    at("total-pieces").textContent = shown(pieces, 0);
    at("total-area").textContent = `${shown(surface, 3)} m²`;
    const lengths = [...edges].map(([band, length]) => `${band}: ${shown(length, 2)} m`).join(", ");
    at("total-edges").textContent = lengths || form.dataset.textNone;
  };
  let timer = 0;
  const totalSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(total, 150);
  };
  const changed = () => {
    isChanged = true;
    render();
    totalSoon();
  };

  body.addEventListener("focusin", (event) => {
    if (!event.target.matches("input")) return;
    current = [Number(event.target.dataset.row), Number(event.target.dataset.column)];
    event.target.dataset.was = event.target.value;
  });
  body.addEventListener("input", (event) => {
    const { row, column } = event.target.dataset;
    rows[row].cells[column] = event.target.value;
    delete rows[row].faults[column];
    event.target.removeAttribute("aria-invalid");
    event.target.removeAttribute("aria-describedby");
    event.target.nextElementSibling?.remove();
    totalSoon();
  });
  body.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text/plain");
    if (!event.target.matches("input") || !/[\t\n]/.test(text.trimEnd())) return;
    event.preventDefault();
    const [top, left] = current;
    const pasted = parse(text);
    let isCut = false;
    pasted.forEach((cells, down) => {
      const row = rows[top + down] ?? rows[rows.push(blank()) - 1];
      cells.forEach((value, right) => {
        if (left + right < columns.length) {
          row.cells[left + right] = value;
          delete row.faults[left + right];
        } else if (value) isCut = true;
      });
    });
    changed();
    focus(top, left);
    at("order-said").textContent = fill(isCut ? form.dataset.textBeyond : form.dataset.textPasted, { rows: pasted.length });
  });
  const move = (event, down, right) => {
    const [row, column] = [current[0] + down, current[1] + right];
    if (row < 0 || column < 0 || column >= columns.length) return;
    event.preventDefault();
    if (row >= rows.length) {
      if (event.key !== "Enter") return;
      rows.push(blank());
      changed();
    }
    focus(row, column);
  };
  body.addEventListener("keydown", (event) => {
    const target = event.target;
    if (!target.matches("input") || event.altKey || event.isComposing) return;
    const isListOpen = target.list && target.value !== target.dataset.was; // arrows then choose from the list
    const isAll = target.selectionStart === 0 && target.selectionEnd === target.value.length;
    if (event.ctrlKey || event.metaKey) {
      const above = rows[current[0] - 1];
      if (event.key.toLowerCase() !== "d" || !above) return;
      event.preventDefault();
      target.value = above.cells[current[1]];
      target.dispatchEvent(new Event("input", { bubbles: true }));
      isChanged = true;
    } else if (event.key === "Enter") move(event, event.shiftKey ? -1 : 1, 0);
    else if (event.key === "ArrowDown" && !isListOpen) move(event, 1, 0);
    else if (event.key === "ArrowUp" && !isListOpen) move(event, -1, 0);
    else if (event.key === "ArrowRight" && (isAll || target.selectionStart === target.value.length)) move(event, 0, 1);
    else if (event.key === "ArrowLeft" && (isAll || target.selectionEnd === 0)) move(event, 0, -1);
  });

  at("order-add").addEventListener("click", () => {
    rows.push(blank());
    changed();
    focus(rows.length - 1, 0);
  });
  at("order-fill").addEventListener("click", () => {
    const [from, column] = current;
    const value = rows[from]?.cells[column] ?? "";
    for (const row of rows.slice(from + 1)) {
      if (!row.cells[column].trim() && !isBlank(row)) {
        row.cells[column] = value;
        delete row.faults[column];
      }
    }
    changed();
    focus(from, column);
  });
  at("order-back").addEventListener("click", () => { first -= PAGE; render(); });
  at("order-next").addEventListener("click", () => { first += PAGE; render(); });

  // Customers by the beginning of a phone or a name; choosing one fills in the other.
  const phone = form.elements.customer_phone;
  const name = form.elements.customer_snapshot_name;
  let customers = [];
  let asked = 0;
  const option = (value, text) => Object.assign(document.createElement("option"), { value, label: text });
  // 0555 123 45 67 is +905551234567 once it is complete.
  const national = (text) => text.replace(/\D/g, "").replace(/^0+/, "");
  const isPhone = (each) => national(phone.value).length >= 10 && each.phone.endsWith(national(phone.value));
  const choose = (field) => {
    const found = customers.filter((each) => (field === phone ? isPhone(each) : each.name === field.value));
    at("order-customer-note").textContent = found.length > 1 ? form.dataset.textSeveral : "";
    if (found.length === 1) {
      phone.value = found[0].phone;
      name.value = found[0].name;
    }
    return found.length > 0;
  };
  const ask = async (field) => {
    const number = ++asked;
    const answer = await fetch(`${form.dataset.customers}?q=${encodeURIComponent(field.value)}`);
    if (!answer.ok || number !== asked) return;
    customers = (await answer.json()).customers;
    at("customer-phones").replaceChildren(...customers.map((each) => option(each.phone, each.name)));
    at("customer-names").replaceChildren(...customers.map((each) => option(each.name, each.masked)));
    choose(field);
  };
  let asking = 0;
  for (const field of [phone, name]) {
    field.addEventListener("input", () => {
      clearTimeout(asking);
      if (!choose(field) && field.value.trim()) asking = setTimeout(() => ask(field), 200);
    });
  }

  form.addEventListener("input", () => { isChanged = true; });
  form.elements.unit.addEventListener("change", totalSoon);
  form.addEventListener("submit", () => {
    while (rows.length && isBlank(rows[rows.length - 1])) rows.pop();
    area.value = written(rows);
    isChanged = false;
  });
  window.addEventListener("beforeunload", (event) => { if (isChanged) event.preventDefault(); });

  at("order-plain").hidden = true;
  form.querySelectorAll("[data-with-script]").forEach((part) => { part.hidden = false; });
  at("order-back").hidden = at("order-next").hidden = true;
  render();
  total();
});
