import { z } from 'zod';
import { receiver, sender } from '../fields.js';

export const Parameters = z.object({
  from: sender('client-4'),
  to: receiver('web-2'),
  pipeline: z
    .enum(['all', 'figure-5-3', 'ip-router', 'firewall', 'transparent-proxy', 'figure-5-8', 'figure-5-9'])
    .default('all')
    .meta({
      title: 'Pipeline',
      description: 'of the publication',
      titles: {
        all: 'All',
        'figure-5-3': 'Figure 5.3',
        'ip-router': 'IP router',
        firewall: 'Firewall',
        'transparent-proxy': 'Transparent proxy',
        'figure-5-8': 'Figure 5.8: that of Figure 5.3 at several costs',
        'figure-5-9': 'Figure 5.9: trees of several depths',
      },
    }),
  workers: z
    .enum(['1', '2'])
    .default('1')
    .meta({
      title: 'Cores',
      description: 'over which tasks are divided; two need a server whose engine has two workers',
      titles: { 1: 'One', 2: 'Two' },
    }),
  objective: z
    .enum(['cpu-time', 'throughput'])
    .default('cpu-time')
    .meta({
      title: 'Objective',
      description: 'what classes are to get in the ratios of the pipeline',
      titles: { 'cpu-time': 'CPU time, in cycles', throughput: 'Throughput, in packets' },
    }),
  mode: z
    .enum(['free', 'constrained'])
    .default('free')
    .meta({
      title: 'Mode',
      titles: {
        free: 'Free, as published: ratios may be met by polling',
        constrained: 'Constrained: without polling, and ratios of cycles nearer to 1',
      },
    }),
});
export type Parameters = z.output<typeof Parameters>;

export function workersOf({ workers }: Pick<Parameters, 'workers'>): 1 | 2 {
  return workers === '2' ? 2 : 1;
}
