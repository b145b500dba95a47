import type { z } from 'zod';
import type { ROUTES } from './api.js';

export type RouteName = keyof typeof ROUTES;
type Part<N extends RouteName, K extends string> = (typeof ROUTES)[N] extends {
  readonly [P in K]: infer T extends z.ZodType;
}
  ? T
  : z.ZodUndefined;
/** What a handler gets: parsed, defaults filled in. */
export interface RouteInput<N extends RouteName> {
  readonly params: z.output<Part<N, 'params'>>;
  readonly query: z.output<Part<N, 'query'>>;
  readonly body: z.output<Part<N, 'body'>>;
}
/** What a client sends. */
export interface RouteRequest<N extends RouteName> {
  readonly params: z.input<Part<N, 'params'>>;
  readonly query: z.input<Part<N, 'query'>>;
  readonly body: z.input<Part<N, 'body'>>;
}
export type RouteResponse<N extends RouteName> = z.output<Part<N, 'response'>>;
