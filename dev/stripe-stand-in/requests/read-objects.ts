// Implements the endpoints that read objects of one kind: one by its id, or a list.
import type { ApiObjects, ObjectFilter, ObjectKind } from '../objects.ts'
import type { Endpoint } from './endpoint.ts'
import { listPage } from './list-page.ts'

/** Shows the object with the id of the route. */
export function retrieve(kind: ObjectKind): Endpoint {
  return ({ objectId, nowMs }, { objects }) => ({
    status: 200,
    body: shownAt(objects.get(kind, objectId), nowMs),
  })
}

/** Lists the objects of a kind. The client may choose them by these members. */
export function list(kind: ObjectKind, filters: readonly ObjectFilter[]): Endpoint {
  return (request, records) => {
    const { data, ...page } = listPage(request, records, kind, filters).body
    return { status: 200, body: { ...page, data: data.map((one) => shownAt(one, request.nowMs)) } }
  }
}

/** The object as the API shows it at that time: money becomes available by itself. */
export function shownAt(object: ApiObjects[ObjectKind], nowMs: number): ApiObjects[ObjectKind] {
  if (object.object !== 'balance_transaction') return object
  return { ...object, status: object.available_on * 1_000 <= nowMs ? 'available' : 'pending' }
}
