// Differences that a test plants, behind the back of the API: an object is made to say something else, or
// taken away. No event tells of it, and the executed log stays what it was: the truth to compare with.
import type { ApiObjects, ObjectKind } from './objects.ts'
import type { Storage } from './storage.ts'
import { noSuchObject } from './stripe-errors.ts'

type StoredObject = ApiObjects[ObjectKind]

/**
 * Replaces those members of an object that are given, each as a whole.
 *
 * @throws StripeError 404 when there is no such object.
 */
export function alterObject(
  storage: Storage,
  id: string,
  members: Readonly<Record<string, unknown>>,
): StoredObject {
  const { objects } = storage
  return storage.transaction(() => {
    const altered: StoredObject = { ...findObject(objects, id), ...members }
    objects.save(altered)
    return altered
  })
}

/**
 * Forgets an object. What names it, such as the movement of a refund, stays.
 *
 * @throws StripeError 404 when there is no such object.
 */
export function removeObject(storage: Storage, id: string): void {
  const { objects } = storage
  storage.transaction(() => {
    findObject(objects, id)
    objects.remove(id)
  })
}

/** @throws StripeError 404 when there is none. */
export function findObject(objects: Storage['objects'], id: string): StoredObject {
  const object = objects.findAny(id)
  if (object === undefined) throw noSuchObject('object', id, 'id')
  return object
}
