import { Inject, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { API_PREFIX, nfInstances, SHELLS_OF_SESSION, type ShellOutput, type ShellSize } from '@orrery/contract';
import { BoundedAudit } from '../../platform/audit.js';
import { LOG, type Log } from '../../platform/log.js';
import { Places } from '../../platform/places.js';
import { ProblemError } from '../../platform/problem.js';
import { SOCKETS, type Sockets } from '../../platform/sockets.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { NODE_SHELLS, type NodeShells } from '../../ports/node-shells.js';
import { SESSION_VERIFIER, type SessionVerifier } from '../../ports/session-verifier.js';
import { ShellClient, type ShellContext } from './shell-client.js';

const MAX_SHELLS = 32;
const MAX_MESSAGE_BYTES = 64 * 1024;

/** Shells in containers, for administrators. Each of them is told of in the log. */
@Injectable()
class ShellGateway implements OnModuleInit {
  private readonly refusals: BoundedAudit;
  private readonly places = new Places(MAX_SHELLS, SHELLS_OF_SESSION);

  constructor(
    @Inject(SOCKETS) private readonly sockets: Sockets,
    @Inject(SESSION_VERIFIER) private readonly sessions: SessionVerifier,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(NODE_SHELLS) private readonly nodes: NodeShells,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(LOG) private readonly log: Log,
  ) {
    this.refusals = new BoundedAudit(events);
  }

  onModuleInit(): void {
    this.sockets.register({
      path: `${API_PREFIX}/shell`,
      maxMessageBytes: MAX_MESSAGE_BYTES,
      onUnixSocket: false,
      forPages: true,
      handler: (socket, visitor) => {
        new ShellClient(socket, visitor, this.context);
      },
    });
  }

  private readonly context: ShellContext = {
    sessions: { verify: (token) => this.sessions.verify(token), watch: (...about) => this.sessions.watch(...about) },
    place: (token) => this.places.take(token),
    open: (id, size, listen) => this.open(id, size, listen),
    opened: (subject, node, { name: actor }, address) =>
      this.events.append({
        ...{ type: 'shell.opened', subject, actor, data: { node, address } },
        message: `${actor} opened a shell in ${subject} on ${node} from ${address}`,
      }),
    refused: (subject, { name: actor }, address, why) =>
      this.refusals.note(address, (unrecorded) => ({
        ...{ type: 'shell.refused', subject, actor, data: { address, why, unrecorded } },
        message: `${actor} got no shell in ${subject} from ${address}: ${why}`,
      })),
    failed: (error) => this.log.error({ error }, 'a shell was not opened'),
    closed: (subject, node, { name: actor }, why, open_ms) =>
      this.events.append({
        ...{ type: 'shell.closed', subject, actor, data: { node, why, open_ms } },
        message: `The shell of ${actor} in ${subject} on ${node} ended: ${why}`,
      }),
  };

  private async open(id: string, size: ShellSize, listen: (message: ShellOutput) => void) {
    const instance = nfInstances(this.view.plan?.graph).find((one) => one.id === id);
    if (!instance) throw new ProblemError(404, `There is no NF instance ${id}.`);
    if (instance.driver !== 'container')
      throw new ProblemError(422, `${id} runs in no container (driver ${instance.driver}).`);
    return { node: instance.server, shell: await this.nodes.openShell(instance.server, id, size, listen) };
  }
}

@Module({ providers: [ShellGateway] })
export class ShellsModule {}
