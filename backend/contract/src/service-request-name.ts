import type { ServiceRequestSpec } from './service-request.js';

/** Of a list in a name. */
const MOST = 3;

/** What a request is called: whose packets pass which functions. Several requests may have the same name. */
export function serviceRequestName({
  from,
  match,
  functions,
}: Pick<ServiceRequestSpec, 'from' | 'match' | 'functions'>): string {
  const terms = match.map(({ attribute, op, value }) => `${op === 'is-not' ? 'not ' : ''}${attribute} ${value}`);
  return `${someOf(from, ', ')} (${someOf(terms, ', ') || 'all packets'}) → ${someOf(functions, ' → ')}`;
}

function someOf(parts: readonly string[], between: string): string {
  const more = parts.length > MOST ? [`${parts.length - MOST} more`] : [];
  return [...parts.slice(0, MOST), ...more].join(between);
}
