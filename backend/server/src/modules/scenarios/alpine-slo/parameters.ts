import { Name } from '@orrery/contract';
import { z } from 'zod';

export const Parameters = z.object({
  from: Name.default('client-4').describe('sending host'),
  to: Name.default('web-2').describe('receiving host'),
  pipeline: z
    .enum(['all', 'figure-5-3', 'ip-router', 'firewall', 'transparent-proxy', 'figure-5-8', 'figure-5-9'])
    .default('all')
    .describe(
      'pipeline of the publication; figure-5-8: Figure 5.3 at several costs; figure-5-9: trees of several depths',
    ),
  workers: z
    .enum(['1', '2'])
    .default('1')
    .describe('cores over which tasks are divided; 2 needs a server whose engine has two workers'),
  objective: z
    .enum(['cpu-time', 'throughput'])
    .default('cpu-time')
    .describe('what classes are to get in the ratios of the pipeline: cycles or packets'),
  mode: z
    .enum(['free', 'constrained'])
    .default('free')
    .describe(
      'free: as published, ratios may be met by polling; constrained: without, and ratios of cycles nearer to 1',
    ),
});
export type Parameters = z.output<typeof Parameters>;

export function workersOf({ workers }: Pick<Parameters, 'workers'>): 1 | 2 {
  return workers === '2' ? 2 : 1;
}
