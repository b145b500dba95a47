import type { ObservedApplications } from '@orrery/contract';
import { expect, it } from 'vitest';
import { TwinApplicationsLink } from './twin-applications-link.js';
import type { TwinKeeper } from './twin-keeper.js';
import type { TwinReports } from './twin-reports.js';
import type { TwindClient } from './twind-client.js';

const observed = (generation: number, received: number) =>
  ({ generation, applications: [{ id: 'echo', metrics: { received } }] }) as unknown as ObservedApplications;

it('takes an answer to a new declaration, and no answer that a report of the same declaration has overtaken', async () => {
  let report: (observed: ObservedApplications) => void = () => undefined;
  let answer: (observed: ObservedApplications) => void = () => undefined;
  const link = new TwinApplicationsLink(
    { onChange: () => undefined } as unknown as TwinKeeper,
    { onApplications: (listener: typeof report) => (report = listener) } as unknown as TwinReports,
    { json: () => new Promise((resolve) => (answer = resolve)) } as unknown as TwindClient,
  );
  link.onModuleInit();
  const put = async (generation: number, received: number, before: () => void = () => undefined) => {
    const done = link.put({ generation, applications: [] }, AbortSignal.timeout(60_000));
    before();
    answer(observed(generation, received));
    await done;
  };
  await put(1, 0);
  expect(link.observed).toEqual(observed(1, 0));
  report(observed(1, 5));
  await put(2, 6);
  expect(link.observed).toEqual(observed(2, 6));
  await put(3, 7, () => report(observed(3, 8)));
  expect(link.observed).toEqual(observed(3, 8));
});
