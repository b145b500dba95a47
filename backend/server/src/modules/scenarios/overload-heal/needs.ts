import type { Need } from '../needs.js';

const EVERY = { query: { limit: 1000 } };

/** As many servers whose agents run NFs in containers: one of them is lost. */
export function serversWithContainers(least: number): Need {
  return {
    title: `containers on ${least} servers`,
    async missing(api) {
      const { items } = await api.call('listCapabilities', EVERY);
      const of = items.filter(({ id }) => id === 'containers');
      const count = of.filter(({ available }) => available).length;
      if (count >= least) return null;
      const why = of.find(({ available }) => !available)?.detail ?? 'there are no others';
      return `${count === 1 ? '1 server runs' : `${count} servers run`} containers: ${why}`;
    },
  };
}

/** What is out of service would be used again meanwhile, and counted as left at the end. */
export function nothingOutOfService(): Need {
  return {
    title: 'no part out of service, and no chain that is not kept',
    async missing(api) {
      const [out, notKept] = [await api.call('listOutOfService', EVERY), await api.call('listChainsNotKept', EVERY)];
      const names = [...out.items.map(({ id }) => id), ...notKept.items.map(({ chain_id }) => chain_id)];
      return names.length > 0 ? `${names.join(', ')} is out of service or not kept: bring it back first` : null;
    },
  };
}

/** Other chains would lose a server, too, and the room that they take. */
export function nothingDeployed(): Need {
  return {
    title: 'no chain that runs',
    async missing(api) {
      const { total } = await api.call('listDeployments', { query: { limit: 1 } });
      if (total === 0) return null;
      return `${total === 1 ? 'a chain runs' : `${total} chains run`}, and a server is taken away: take down what runs`;
    },
  };
}
