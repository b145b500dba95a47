import type { Filter } from '@orrery/contract';

/** A traffic class's match as one line: `ip.dst 10.0.2.0/24, not port.dst 80`. */
export function filterTermsText(match: Filter): string {
  return match.map((term) => `${term.op === 'is-not' ? 'not ' : ''}${term.attribute} ${term.value}`).join(', ');
}
