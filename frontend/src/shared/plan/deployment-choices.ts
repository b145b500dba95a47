import type { DeploymentOptions, EngineAbility, NodeStatus } from '@orrery/contract';

/** Choices of how a whole chain runs. */
export type DeploymentDimension = Exclude<keyof DeploymentOptions, 'splits'>;

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
  offload: {
    label: 'Switches run NFs',
    choices: [
      { value: 'never', label: 'Never', note: 'Every NF runs on a server or a board.', needs: [] },
      {
        value: 'where-possible',
        label: 'Where possible',
        note: 'The first NFs run on the switches where packets enter, if these have the actions and table entries for them.',
        needs: [],
      },
    ],
  },
  schedule: {
    label: 'Cores serve',
    choices: [
      { value: 'round-robin', label: 'In turn', note: 'One task per instance, round robin.', needs: [] },
      {
        value: 'planned',
        label: 'As scheduled',
        note: 'Tasks and weights of the tab Schedule, on one core where they have room.',
        needs: ['scheduler'],
      },
      {
        value: 'split',
        label: 'Split over several cores',
        note: 'As scheduled, with the tasks divided over the cores of a server.',
        needs: ['scheduler'],
      },
    ],
  },
};

export const DEPLOYMENT_NAMES = Object.keys(DEPLOYMENT) as DeploymentDimension[];

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
