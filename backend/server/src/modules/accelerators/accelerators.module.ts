import { Controller, Global, Inject, Module, Res } from '@nestjs/common';
import type { RouteInput, SessionInfo, SlotRef } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import { notFound } from '../../platform/problem.js';
import { Caller, Input, Route } from '../../platform/route.js';
import { BOARDS, type BoardView } from '../../ports/board-view.js';
import { BoardKeeper } from './board-keeper.js';
import { ModuleLibrary } from './module-library.js';
import { Reservations } from './reservations.js';

@Controller()
class AcceleratorsController {
  constructor(
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(Reservations) private readonly reservations: Reservations,
    @Inject(ModuleLibrary) private readonly library: ModuleLibrary,
  ) {}

  @Route('listAccelerators')
  list(@Input() { query }: RouteInput<'listAccelerators'>, @Res({ passthrough: true }) reply: FastifyReply) {
    return pageOf(this.boards.accelerators(), query, ({ id }) => id, reply);
  }

  @Route('listBoardModules')
  modules(@Input() { query }: RouteInput<'listBoardModules'>, @Res({ passthrough: true }) reply: FastifyReply) {
    return pageOf(this.library.modules, query, ({ id }) => id, reply);
  }

  @Route('reserveSlot')
  reserve(@Input() { params, body }: RouteInput<'reserveSlot'>, @Caller() caller: SessionInfo) {
    return this.reservations.reserve(this.existing(params), caller.name, body.reason);
  }

  @Route('releaseSlot')
  async release(@Input() { params }: RouteInput<'releaseSlot'>, @Caller() caller: SessionInfo): Promise<void> {
    const slot = this.existing(params);
    if (!(await this.reservations.release(slot, caller.name)))
      throw notFound('reservation of slot', `${slot.board} ${slot.slot}`);
  }

  private existing({ id, slot }: { readonly id: string; readonly slot: number }): SlotRef {
    const board = this.boards.accelerators().find((each) => each.id === id);
    if (!board) throw notFound('board', id);
    if (!board.slots.some((each) => each.slot === slot)) throw notFound('slot', `${id} ${slot}`);
    return { board: id, slot };
  }
}

@Global()
@Module({
  controllers: [AcceleratorsController],
  providers: [Reservations, ModuleLibrary, BoardKeeper, { provide: BOARDS, useExisting: BoardKeeper }],
  exports: [BOARDS],
})
export class AcceleratorsModule {}
