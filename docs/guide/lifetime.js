/* The calculator of the page: days = (volume - cold) x erases / (written x factor). */
"use strict";

function lifetimeText(volume, cold, erases, written, factor) {
  const days = (volume - cold) * erases / (written * factor);
  if (!(days > 0) || !Number.isFinite(days)) return "These numbers make no sense together.";
  const years = days / 365.25;
  const number = value => value.toLocaleString("en", { maximumSignificantDigits: 3 });
  return years >= 1 ? `${number(years)} years` : `${number(days)} days`;
}

function lifetimeShow() {
  const value = id => Number(document.getElementById(id).value);
  const numbers = ["volume", "cold", "erases", "written", "factor"].map(value);
  document.getElementById("life").textContent = "The blocks last " + lifetimeText(...numbers);
}

for (const input of document.querySelectorAll(".calculator input"))
  input.addEventListener("input", lifetimeShow);
lifetimeShow();
