import type { Application, ApplicationDefinition } from '@orrery/contract';
import type { Api } from './orrery.js';

type Wanted = { kind: ApplicationDefinition['kind']; node: string; config: Record<string, unknown> };

/** Declares an application, whatever was declared before, and waits until it runs. */
export async function ensureRunning(api: Api, id: string, wanted: Wanted): Promise<void> {
  await api.ok('PUT', `/applications/${id}`, { id, ...wanted }, { 'if-match': '*' });
  await api.until(`${id} runs`, async () =>
    (await api.ok('GET', `/applications/${id}`)).status.state === 'running' ? true : null,
  );
}

/** Runs an application to its end and removes it; returns its metrics by name, with its final state. */
export async function runToEnd(api: Api, id: string, wanted: Wanted) {
  await api.ok('POST', '/applications', { id, ...wanted });
  const { status }: Application = await api.until(`the end of ${id}`, async () => {
    const now: Application = await api.ok('GET', `/applications/${id}`);
    return now.status.state === 'completed' ? now : null;
  });
  await api.ok('DELETE', `/applications/${id}`);
  return { state: status.state, ...Object.fromEntries(status.metrics.map(({ name, value }) => [name, value])) };
}
