import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { Health } from '@orrery/contract';
import { PROBES, type Probes } from '../../platform/probes.js';
import { BOARDS, type BoardView } from '../../ports/board-view.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { LINK_STATES, type LinkStates } from '../../ports/link-states.js';
import { TWIN, type TwinView } from '../../ports/twin-view.js';
import { HealingRecords } from './records.js';
import { isThere } from './wellbeing.js';

type HealthPart = Health['parts'][number];

/** Tells health which servers, boards and switches are lost. */
@Injectable()
export class LostParts implements OnModuleInit {
  constructor(
    @Inject(HealingRecords) private readonly records: Pick<HealingRecords, 'out'>,
    @Inject(BOARDS) private readonly boards: Pick<BoardView, 'lost'>,
    @Inject(LINK_STATES) private readonly links: Pick<LinkStates, 'lostSwitches'>,
    @Inject(TWIN) private readonly twin: Pick<TwinView, 'enabled' | 'builtRevision'>,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: Pick<InfrastructureStore, 'current'>,
    @Inject(PROBES) private readonly probes: Pick<Probes, 'onHealth'>,
  ) {}

  onModuleInit(): void {
    this.probes.onHealth(() => [
      partOf('servers', this.lostServers()),
      partOf(
        'boards',
        this.boards.lost().map(({ id, state, detail }) => `${id} is lost: ${detail ?? `it is ${state}`}`),
      ),
      partOf(
        'switches',
        [...this.links.lostSwitches].map((id) => `${id} is lost: it does not answer and passes no packets`),
      ),
    ]);
  }

  private lostServers(): string[] {
    const { revision } = this.infrastructure.current;
    return this.records
      .out()
      .filter((part) => isThere(part, this.twin, revision))
      .flatMap(({ id, kind, lost }) => (kind === 'server' && lost ? [`${id} is lost: ${lost.why}`] : []));
  }
}

function partOf(name: string, lost: readonly string[]): HealthPart {
  return lost.length === 0
    ? { name, status: 'ok', detail: 'none is lost' }
    : { name, status: 'degraded', detail: lost.join('; ') };
}
