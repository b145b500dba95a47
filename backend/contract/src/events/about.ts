import { lineageOf } from '../lineage.js';
import { EVENTS, type Event } from './event.js';

/** Of the whole network, whose links and switches every chain shares: each chart marks them. */
const OF_ALL: ReadonlySet<string> = new Set([
  'twin',
  'server',
  'scenario-run',
  'infrastructure',
  'fault',
  'link',
  'switch',
]);

/**
 * Whether an event is about one of these parts, or about the whole network. An event about an instance is about the first of those
 * that followed each other, too.
 */
export function isAbout(event: Event, parts: ReadonlySet<string>): boolean {
  if (OF_ALL.has(EVENTS[event.type].about)) return true;
  return event.subject.split(' ').some((id) => isOf(id, parts)) || names(event.data, parts, MOST_DEPTH);
}

/** Data of events are this deep at most where they name parts. */
const MOST_DEPTH = 4;

function names(data: unknown, parts: ReadonlySet<string>, depth: number): boolean {
  if (typeof data === 'string') return isOf(data, parts);
  if (typeof data !== 'object' || data === null || depth === 0) return false;
  return Object.values(data).some((each) => names(each, parts, depth - 1));
}

function isOf(id: string, parts: ReadonlySet<string>): boolean {
  return parts.has(id) || parts.has(lineageOf(id));
}
