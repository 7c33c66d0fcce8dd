'use strict';
// Keeps the reader's choices in the page's address, so that a link or a reload opens the same view:
//
//   #timeline&problem=resnet50+on+2xk80&axis=seconds&hide=random
//
// The section comes first, then the choices that are not the default.

const View = {
  section: '',
  choices: new URLSearchParams(),

  read() {
    const asked = new URLSearchParams(location.hash.slice(1));
    View.section = '';
    for (const section of document.querySelectorAll('main > section'))
      if (asked.has(section.id)) {
        View.section = section.id;
        asked.delete(section.id);
      }
    View.choices = asked;
  },

  // Returns the choice for `key`, or the first of `allowed` if the address has none of them.
  get(key, allowed) {
    const value = View.choices.get(key);
    return allowed.includes(value) ? value : allowed[0];
  },
  // Returns the choice as an index of a list; null if it is not in the list.
  index(key, list) {
    const value = View.choices.get(key);
    return /^\d+$/.test(value) && +value < list.length ? +value : null;
  },
  getAll: (key) => View.choices.getAll(key),

  // Sets one value, a list of values, or null for the default.
  set(key, value) {
    View.choices.delete(key);
    for (const one of value === null ? [] : [value].flat()) View.choices.append(key, one);
    history.replaceState(null, '', View.address());
  },

  address: () => '#' + [View.section, View.choices].map(String).filter((part) => part).join('&'),

  // Follows a link to a section and keeps the choices.
  follow(event) {
    event.preventDefault();
    View.section = event.target.getAttribute('href').slice(1);
    history.pushState(null, '', View.address());
    View.jump();
  },
  jump(how) {
    const section = document.getElementById(View.section);
    if (section) section.scrollIntoView(how);
  },
};

// Makes a list of choices that the address keeps: {value: text}, the first is the default.
function viewChooser(label, key, choices, again) {
  const values = Object.keys(choices);
  return chooser(label, choices, View.get(key, values), (value) => {
    View.set(key, value === values[0] ? null : value);
    again();
  });
}
