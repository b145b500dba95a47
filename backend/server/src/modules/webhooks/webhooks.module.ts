import { Controller, Inject, Module, Res } from '@nestjs/common';
import { API_PREFIX, type RouteInput, type SessionInfo, type Webhook, type WebhookSecret } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import type { Precondition } from '../../platform/precondition.js';
import { Caller, etagOf, IfMatch, Input, Route } from '../../platform/route.js';
import type { StoredWebhook } from './stored.js';
import { WebhookSender } from './webhook-sender.js';
import { Webhooks } from './webhooks.js';

@Controller()
class WebhooksController {
  constructor(
    @Inject(Webhooks) private readonly webhooks: Webhooks,
    @Inject(WebhookSender) private readonly sender: WebhookSender,
  ) {}

  @Route('listWebhooks')
  list(@Input() { query }: RouteInput<'listWebhooks'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const described = this.webhooks.all().map((hook) => this.sender.describe(hook));
    return pageOf(described, query, ({ id }) => id, reply);
  }

  @Route('createWebhook')
  async create(
    @Input() { body }: RouteInput<'createWebhook'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookSecret> {
    const { id, secret } = await this.webhooks.add(body, caller.name);
    reply.header('location', `${API_PREFIX}/webhooks/${id}`);
    return { id, secret };
  }

  @Route('getWebhook')
  get(@Input() { params }: RouteInput<'getWebhook'>, @Res({ passthrough: true }) reply: FastifyReply): Webhook {
    return this.tagged(this.webhooks.get(params.id), reply);
  }

  @Route('putWebhook')
  async put(
    @Input() { params, body }: RouteInput<'putWebhook'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Webhook> {
    return this.tagged(await this.webhooks.replace(params.id, body, ifMatch, caller.name), reply);
  }

  @Route('deleteWebhook')
  delete(
    @Input() { params }: RouteInput<'deleteWebhook'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
  ): Promise<void> {
    return this.webhooks.remove(params.id, ifMatch ?? null, caller.name);
  }

  @Route('rotateWebhookSecret')
  async rotate(
    @Input() { params }: RouteInput<'rotateWebhookSecret'>,
    @Caller() caller: SessionInfo,
  ): Promise<WebhookSecret> {
    const { id, secret } = await this.webhooks.rotate(params.id, caller.name);
    return { id, secret };
  }

  @Route('testWebhook')
  test(@Input() { params }: RouteInput<'testWebhook'>) {
    return this.sender.test(this.webhooks.get(params.id));
  }

  private tagged(hook: StoredWebhook, reply: FastifyReply): Webhook {
    const described = this.sender.describe(hook);
    reply.header('etag', etagOf(described.revision));
    return described;
  }
}

@Module({ controllers: [WebhooksController], providers: [Webhooks, WebhookSender] })
export class WebhooksModule {}
