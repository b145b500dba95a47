import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { Health } from '@orrery/contract';
import { PROBES, type Probes } from '../../platform/probes.js';
import { BOARDS, type BoardView } from '../../ports/board-view.js';
import { LINK_STATES, type LinkStates } from '../../ports/link-states.js';
import { HealingRecords } from './records.js';

type HealthPart = Health['parts'][number];

/** Tells health which servers, boards and switches are lost. */
@Injectable()
export class LostParts implements OnModuleInit {
  constructor(
    @Inject(HealingRecords) private readonly records: Pick<HealingRecords, 'out'>,
    @Inject(BOARDS) private readonly boards: Pick<BoardView, 'accelerators' | 'broken'>,
    @Inject(LINK_STATES) private readonly links: Pick<LinkStates, 'lostSwitches'>,
    @Inject(PROBES) private readonly probes: Pick<Probes, 'onHealth'>,
  ) {}

  onModuleInit(): void {
    this.probes.onHealth(() => [
      partOf('servers', this.lostServers()),
      partOf('boards', this.lostBoards()),
      partOf(
        'switches',
        [...this.links.lostSwitches].map((id) => `${id} is lost: it does not answer and passes no packets`),
      ),
    ]);
  }

  private lostServers(): string[] {
    return this.records
      .out()
      .flatMap(({ id, kind, lost }) => (kind === 'server' && lost ? [`${id} is lost: ${lost.why}`] : []));
  }

  /** Those of which no slot can be used, by what connected agents report. */
  private lostBoards(): string[] {
    const broken = new Set(this.boards.broken().map(({ board, slot }) => `${board} ${slot}`));
    return this.boards
      .accelerators()
      .filter(({ state }) => state === 'absent' || state === 'failed')
      .filter(({ id, slots }) => slots.every(({ slot }) => broken.has(`${id} ${slot}`)))
      .map(({ id, state, detail }) => `${id} is lost: ${detail ?? `it is ${state}`}`);
  }
}

function partOf(name: string, lost: readonly string[]): HealthPart {
  return lost.length === 0
    ? { name, status: 'ok', detail: 'none is lost' }
    : { name, status: 'degraded', detail: lost.join('; ') };
}
