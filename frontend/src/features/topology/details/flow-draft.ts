import { FLOW_SPACE, type FlowSelector, type FlowTerm, IpPrefix, type PlannedSplit } from '@orrery/contract';

/** Which flows are to move, as it is typed; an empty field matches all. */
export interface FlowDraft {
  readonly src: string;
  readonly dst: string;
  readonly proto: string;
  readonly srcPorts: string;
  readonly dstPorts: string;
  /** Of what a split hashes, as its ranges are; the end is not included. */
  readonly hash: string;
}

export const ALL_FLOWS: FlowDraft = { src: '', dst: '', proto: '', srcPorts: '', dstPorts: '', hash: '' };

/** The selector, or what is wrong with a field. */
export interface ReadDraft {
  readonly flows: FlowSelector;
  readonly errors: Partial<Record<keyof FlowDraft, string>>;
}

/** `key`: what the split of the NF hashes; empty: there is none. */
export function readFlowDraft(draft: FlowDraft, key: PlannedSplit['key'] = []): ReadDraft {
  const match: FlowTerm[] = [];
  const errors: ReadDraft['errors'] = {};
  const prefix = (field: 'ip.src' | 'ip.dst', name: 'src' | 'dst') => {
    const text = draft[name].trim().toLowerCase();
    if (text === '') return;
    const whole = text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`;
    if (IpPrefix.safeParse(whole).success) match.push({ field, prefix: whole, not: false });
    else errors[name] = 'An address or a prefix such as 10.0.1.0/24';
  };
  const ports = (field: 'port.src' | 'port.dst', name: 'srcPorts' | 'dstPorts') => {
    const text = draft[name].trim();
    if (text === '') return;
    const [, first, last = first] = /^(\d{1,5})(?:\s*-\s*(\d{1,5}))?$/.exec(text) ?? [];
    const [lo, hi] = [Number(first), Number(last)];
    if (first !== undefined && lo <= hi && hi <= 65_535) match.push({ field, lo, hi, not: false });
    else errors[name] = 'A port such as 80, or a range such as 8000-8099';
  };
  prefix('ip.src', 'src');
  prefix('ip.dst', 'dst');
  if (draft.proto !== '') match.push({ field: 'ip.proto', value: Number(draft.proto), not: false });
  ports('port.src', 'srcPorts');
  ports('port.dst', 'dstPorts');
  const hash = key.length > 0 ? hashRange(draft.hash.trim()) : undefined;
  if (hash === null) errors.hash = `A range within 0-${FLOW_SPACE} such as 0-16384; its end is not included`;
  return { flows: { match, ...(hash && { hash: { key: [...key], ...hash } }) }, errors };
}

/** The field of the draft that an error of the server is of, by its pointer in a request with these flows; null: of none. */
export function draftFieldAt(pointer: string, { match }: FlowSelector): keyof FlowDraft | null {
  if (pointer.startsWith('/flows/hash')) return 'hash';
  const [, index] = /^\/flows\/match\/(\d+)(\/|$)/.exec(pointer) ?? [];
  const term = index === undefined ? undefined : match[Number(index)];
  return term ? TYPED_AS[term.field] : null;
}

const TYPED_AS: Readonly<Record<FlowTerm['field'], keyof FlowDraft>> = {
  'ip.src': 'src',
  'ip.dst': 'dst',
  'ip.proto': 'proto',
  'port.src': 'srcPorts',
  'port.dst': 'dstPorts',
};

/** Undefined: none is typed; null: it is none. */
function hashRange(text: string): { lo: number; hi: number } | null | undefined {
  if (text === '') return undefined;
  const [, first, last] = /^\[?(\d{1,5})\s*[-–,]\s*(\d{1,5})\)?$/.exec(text) ?? [];
  const [lo, hi] = [Number(first), Number(last)];
  return first !== undefined && lo < hi && hi <= FLOW_SPACE ? { lo, hi } : null;
}
