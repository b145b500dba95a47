import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ROUTES, type RouteDefinition } from '@orrery/contract';
import { signInFirst } from './auth.js';
import { type ApiRequest, routeOf } from './route.js';

/** Runs no handler whose session was not checked on arrival (`authenticate`). */
@Injectable()
export class AuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const name = routeOf(context);
    if (!name) return true;
    const { role }: RouteDefinition = ROUTES[name];
    const { session, routeName } = context.switchToHttp().getRequest<ApiRequest>();
    if (role !== null && !(session && routeName === name)) throw signInFirst();
    return true;
  }
}
