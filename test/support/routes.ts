// Every endpoint of the API, for rules that hold for all of them.
import { routes } from '../../src/http/server/routes.ts'

const METHODS = { get: 'GET', post: 'POST', delete: 'DELETE' } as const

/** The endpoints of the table of routes, one for each method and path. */
export const everyRoute = routes.flatMap(({ path, ...endpoints }) =>
  (['get', 'post', 'delete'] as const).flatMap((name) => {
    const endpoint = endpoints[name]
    return endpoint === undefined ? [] : [{ method: METHODS[name], path, endpoint }]
  }),
)
