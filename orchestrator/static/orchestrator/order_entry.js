// The form of an order: its grid of parts with totals, and its customer.
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const form = document.getElementById("order-form");
  if (!form) return;
  const at = (id) => document.getElementById(id);
  const noEdges = JSON.parse(form.dataset.noEdges);
  const bands = [...at("edges").options].map((each) => each.value);

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
    for (const { cells } of grid.rows) {
      const of = (name) => cells[grid.indexOf[name]];
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

  form.elements.unit.addEventListener("change", totalSoon);
  const grid = new KilitGrid(form.querySelector("[data-grid]"), { least: 5, onChange: totalSoon });
  // Faults of the last check, at their cells.
  for (const link of document.querySelectorAll("#order-faults [data-row]")) {
    const column = grid.indexOf[link.dataset.column] ?? 0;
    const row = grid.addFault(Number(link.dataset.row), link.dataset.column, link.nextElementSibling.textContent);
    if (!row) continue;
    link.addEventListener("click", (event) => {
      event.preventDefault();
      grid.focus(grid.rows.indexOf(row), column);
    });
  }
  grid.render();
  total();
});
