import type { DeploymentOptions, EngineAbility, NodeStatus } from '@orrery/contract';

export type DeploymentDimension = keyof DeploymentOptions;

interface Choice {
  readonly value: string;
  readonly label: string;
  readonly note: string;
  /** Abilities that the engine of a server must declare. */
  readonly needs: readonly EngineAbility[];
}

/** How a chain runs: the first option is the default of a new chain. */
export const DEPLOYMENT: Readonly<
  Record<DeploymentDimension, { readonly label: string; readonly choices: readonly [Choice, ...Choice[]] }>
> = {
  execution: {
    label: 'Execution',
    choices: [
      { value: 'sequential', label: 'Sequential', note: 'One NF after the other, as drawn.', needs: [] },
      {
        value: 'parallel',
        label: 'Parallel',
        note: 'NFs that do not depend on each other work on copies of a packet at the same time.',
        needs: ['mirror', 'merge'],
      },
    ],
  },
  schedule: {
    label: 'Cores serve',
    choices: [
      { value: 'round-robin', label: 'In turn', note: 'One task per instance, round robin.', needs: [] },
      { value: 'planned', label: 'As scheduled', note: 'Tasks and weights of the tab Schedule.', needs: ['scheduler'] },
    ],
  },
};

export const DEPLOYMENT_NAMES = Object.keys(DEPLOYMENT) as DeploymentDimension[];

/** Options in the URL; absent: as the chain runs now. */
export function deploymentOf(search: URLSearchParams): DeploymentOptions {
  return Object.fromEntries(
    DEPLOYMENT_NAMES.flatMap((name) => {
      const value = search.get(name);
      return DEPLOYMENT[name].choices.some((choice) => choice.value === value) ? [[name, value]] : [];
    }),
  );
}

/** The address with other deployment options. */
export function withDeployment(search: URLSearchParams, options: DeploymentOptions): URLSearchParams {
  const after = new URLSearchParams(search);
  for (const name of DEPLOYMENT_NAMES) {
    const value = options[name];
    if (value) after.set(name, value);
    else after.delete(name);
  }
  return after;
}

/** Why no server supports the option; null: one does, or abilities are unknown. */
export function obstacleTo({ needs }: Pick<Choice, 'needs'>, nodes: readonly NodeStatus[] | undefined): string | null {
  const servers = (nodes ?? []).filter(({ kind, state }) => kind === 'server' && state !== 'never-seen');
  if (servers.length === 0) return null;
  const missing = needs.filter((ability) => !servers.some((server) => abilitiesOf(server).includes(ability)));
  return missing.length > 0 ? `No engine declares ${missing.join(' or ')}.` : null;
}

function abilitiesOf({ capabilities }: NodeStatus): readonly unknown[] {
  return Array.isArray(capabilities.abilities) ? capabilities.abilities : [];
}
