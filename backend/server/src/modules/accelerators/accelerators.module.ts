import { Controller, Global, Inject, Module, Res } from '@nestjs/common';
import type { RouteInput, SessionInfo, SlotRef, SlotReservation } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import type { Precondition } from '../../platform/precondition.js';
import { notFound } from '../../platform/problem.js';
import { Caller, etagOf, IfMatch, Input, Route } from '../../platform/route.js';
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

  @Route('getReservation')
  reservation(
    @Input() { params }: RouteInput<'getReservation'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): SlotReservation {
    return tagged(this.reservations.get(this.existing(params)), reply);
  }

  @Route('reserveSlot')
  async reserve(
    @Input() { params, body }: RouteInput<'reserveSlot'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SlotReservation> {
    return tagged(await this.reservations.reserve(this.existing(params), ifMatch, caller.name, body.reason), reply);
  }

  @Route('releaseSlot')
  release(
    @Input() { params }: RouteInput<'releaseSlot'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
  ): Promise<void> {
    return this.reservations.release(this.existing(params), ifMatch ?? null, caller.name);
  }

  private existing({ id, slot }: { readonly id: string; readonly slot: number }): SlotRef {
    const board = this.boards.accelerators().find((each) => each.id === id);
    if (!board) throw notFound('board', id);
    if (!board.slots.some((each) => each.slot === slot)) throw notFound('slot', `${id} ${slot}`);
    return { board: id, slot };
  }
}

function tagged(reservation: SlotReservation, reply: FastifyReply): SlotReservation {
  reply.header('etag', etagOf(reservation.since_ms));
  return reservation;
}

@Global()
@Module({
  controllers: [AcceleratorsController],
  providers: [Reservations, ModuleLibrary, BoardKeeper, { provide: BOARDS, useExisting: BoardKeeper }],
  exports: [BOARDS],
})
export class AcceleratorsModule {}
