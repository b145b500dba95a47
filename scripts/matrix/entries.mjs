/**
 * Switch entries in one notation, from the API and from the switch itself, so that they can be compared:
 * `<table> <priority> <field>=<value>/<mask>... -> <actions>`. Fields are those that say where a packet comes from and
 * goes to; protocol and fragments are left out.
 */

const TABLES = { admit: 0, steer: 1, route: 2 };
/** By field of the API: its name in `ovs-ofctl`, and its width in bits. */
const FIELDS = {
  'eth.src': ['dl_src', 48],
  'eth.dst': ['dl_dst', 48],
  'ip.src': ['nw_src', 32],
  'ip.dst': ['nw_dst', 32],
  'port.src': ['tp_src', 16],
  'port.dst': ['tp_dst', 16],
};
const ACTION = /set_field:[0-9a-f:]{17}->eth_(?:src|dst)|output:\d+|group:\d+|goto_table:\d+|dec_ttl|drop/g;

/** Entries of the API. `ports`: OpenFlow numbers by name. */
export function plannedEntries(entries, ports) {
  return entries.map(({ table, priority, match, actions }) => {
    const fields = Object.entries(FIELDS).flatMap(([field, [name, bits]]) => {
      const { value, mask } = match.fields[field] ?? { value: 0, mask: 0 };
      return matched(name, BigInt(value), BigInt(mask), bits);
    });
    const port = match.port === undefined ? [] : [`in_port=${ports.get(match.port)}`];
    return notation(
      TABLES[table],
      priority,
      [...port, ...fields],
      actions.flatMap((one) => actionOf(one, ports)),
    );
  });
}

/** Lines of `ovs-ofctl dump-flows`. */
export function heldEntries(lines) {
  return lines
    .filter((line) => line.includes('actions='))
    .map((line) => {
      const [match, actions] = line.split('actions=');
      const number = (name, otherwise) => Number(new RegExp(`\\b${name}=(\\d+)`).exec(match)?.[1] ?? otherwise);
      const port = /\bin_port=\d+/.exec(match) ?? [];
      const fields = Object.values(FIELDS).flatMap(([name, bits]) => {
        const found = new RegExp(`\\b${name}=([^,/ ]+)(?:/([^, ]+))?`).exec(match);
        return found ? matched(name, numberOf(found[1]), maskOf(found[2], bits), bits) : [];
      });
      // Without a priority, `ovs-ofctl` means this one.
      return notation(number('table', 0), number('priority', 32768), [...port, ...fields], actions.match(ACTION) ?? []);
    });
}

/** Numbers of the groups that entries of the API send to. */
export const plannedGroups = (entries) =>
  [...new Set(entries.flatMap(({ actions }) => actions.flatMap(({ group }) => group ?? [])))].map(
    (id) => `group ${id}`,
  );

/** Lines of `ovs-ofctl dump-groups`. */
export const heldGroups = (lines) =>
  lines.flatMap((line) => /group_id=(\d+)/.exec(line)?.[1] ?? []).map((id) => `group ${id}`);

/** What is wanted and not there, and what is there and not wanted; what is there twice counts twice. */
export function differences(wanted, there) {
  const left = [...there];
  const lacking = wanted.filter((one) => {
    const at = left.indexOf(one);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
  return [...lacking.map((one) => `lacks ${one}`), ...left.map((one) => `has ${one} too`)];
}

function notation(table, priority, match, actions) {
  return `${[table, priority, ...match].join(' ')} -> ${actions.join(',')}`;
}

function matched(name, value, mask, bits) {
  return mask === 0n
    ? []
    : [`${name}=0x${(value & mask).toString(16)}${mask === ones(bits) ? '' : `/0x${mask.toString(16)}`}`];
}

function actionOf(action, ports) {
  switch (action.do) {
    case 'set-mac':
      return [`set_field:${action.mac.toLowerCase()}->${action.field.replace('.', '_')}`];
    case 'decrement-ttl':
      return ['dec_ttl'];
    case 'output':
      return [`output:${ports.get(action.port)}`];
    case 'group':
      return [`group:${action.group}`];
    case 'next-table':
      return [`goto_table:${TABLES[action.table]}`];
    case 'drop':
      return ['drop'];
    default:
      return [];
  }
}

const ones = (bits) => (1n << BigInt(bits)) - 1n;

/** A decimal or hexadecimal number, an IPv4 or a MAC address. */
function numberOf(text) {
  if (text.includes(':')) return BigInt(`0x${text.replaceAll(':', '')}`);
  if (text.includes('.')) return text.split('.').reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  return BigInt(text);
}

/** A mask of `bits` bits; `ovs-ofctl` writes that of an IPv4 address as the length of its prefix where it can. */
function maskOf(text, bits) {
  if (text === undefined) return ones(bits);
  if (bits === 32 && /^\d+$/.test(text)) return ones(32) ^ ones(32 - Number(text));
  return numberOf(text);
}
