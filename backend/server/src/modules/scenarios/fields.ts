import { CpuLimit, Name } from '@orrery/contract';
import { z } from 'zod';

// Parameters that scenarios share. `title`, `unit` and `titles` (of the values of an enumeration) are for forms.

export const sender = (usual: string) => Name.default(usual).meta({ title: 'Sending host' });

export const receiver = (usual: string) => Name.default(usual).meta({ title: 'Receiving host' });

export const nfOf = (usual: string) =>
  Name.default(usual).meta({ title: 'NF', description: 'of which the chain consists' });

/** The same seed gives the same `what`. */
export const seedOf = (what: string, most = 1_000_000) =>
  z
    .int()
    .min(1)
    .max(most)
    .default(1)
    .meta({ title: 'Seed', description: `the same one gives the same ${what}` });

export const newFlows = (usual: number, description = 'on average') =>
  z.number().min(1).max(2000).default(usual).meta({ title: 'New flows', unit: 'flows/s', description });

export const meanLifetime = (usual: number, most: number) =>
  z.number().min(0.5).max(most).default(usual).meta({ title: 'Mean lifetime of a flow', unit: 's' });

export const cpuLimit = (usual: number, description: string) =>
  CpuLimit.default(usual).meta({ title: 'CPU limit', unit: 'of a core', description });
