import type { Need } from '../needs.js';

const EVERY = { query: { limit: 1000 } };

/** Servers whose agents run NFs in containers. */
export function containers(): Need {
  return {
    title: 'containers on a server',
    async missing(api) {
      const { items } = await api.call('listCapabilities', EVERY);
      const of = items.filter(({ id }) => id === 'containers');
      return of.some(({ available }) => available) ? null : `no server runs containers: ${of[0]?.detail ?? 'unknown'}`;
    },
  };
}

/** A processor with the instructions that the tunnel is accelerated by. */
export function instructions(): Need {
  return {
    title: 'a processor with instructions for AES',
    async missing(api) {
      const { items } = await api.call('listCapabilities', EVERY);
      const of = items.filter(({ id }) => id === 'cpu-instructions');
      return of.some(({ available }) => available) ? null : `no server has them: ${of[0]?.detail ?? 'unknown'}`;
    },
  };
}
