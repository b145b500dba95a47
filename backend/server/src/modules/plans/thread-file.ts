import { createRequire } from 'node:module';

/** The built file of a thread: threads run JavaScript, even when tests run the sources. */
export function threadFile(name: 'plan-thread' | 'certify-thread'): string {
  return createRequire(import.meta.url).resolve(`@orrery/server/threads/${name}`);
}
