// Defines a route: a path, with an endpoint for each method, and who may call it. `tenant` routes need
// an API key with a scope, `admin` routes need an operator key or a session of the console, `session`
// routes need a session, and `open` and `console` routes need neither.
import type { Scope } from '../../domain/tenants/api-key.ts'
import type { AdminEndpoint, OpenEndpoint, SessionEndpoint, TenantEndpoint } from '../endpoint.ts'

export interface Route {
  readonly path: string
  readonly get?: Endpoint
  readonly post?: Endpoint
  readonly delete?: Endpoint
}

export type Endpoint =
  | { readonly access: 'open'; readonly endpoint: OpenEndpoint }
  | {
      readonly access: 'tenant'
      readonly scope: Scope
      /** It changes something without a key of its own: its path already makes it safe to repeat. */
      readonly isKeyless?: true
      readonly endpoint: TenantEndpoint
    }
  | { readonly access: 'admin'; readonly endpoint: AdminEndpoint }
  | {
      readonly access: 'session'
      /** A viewer may call it, although it changes something. */
      readonly isForViewers: boolean
      readonly endpoint: SessionEndpoint
    }
  | { readonly access: 'console'; readonly endpoint: OpenEndpoint }

export const open = (endpoint: OpenEndpoint): Endpoint => ({ access: 'open', endpoint })
export const tenant = (endpoint: TenantEndpoint, scope: Scope): Endpoint => ({
  access: 'tenant',
  scope,
  endpoint,
})
export const keyless = (endpoint: TenantEndpoint, scope: Scope): Endpoint => ({
  access: 'tenant',
  scope,
  isKeyless: true,
  endpoint,
})
export const admin = (endpoint: AdminEndpoint): Endpoint => ({ access: 'admin', endpoint })
export const withSession = (endpoint: SessionEndpoint, isForViewers = false): Endpoint => ({
  access: 'session',
  isForViewers,
  endpoint,
})
export const consoleOnly = (endpoint: OpenEndpoint): Endpoint => ({ access: 'console', endpoint })
