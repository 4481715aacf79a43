// Plants differences for reconciliation tests: alters or removes an object without an event. The
// executed log stays unchanged, so that tests can compare with the truth.
import type { ApiObjects, ObjectKind } from '../objects.ts'
import type { Storage } from '../storage.ts'
import { noSuchObject } from '../requests/stripe-errors.ts'

type StoredObject = ApiObjects[ObjectKind]

/**
 * Replaces members of an object, each as a whole.
 *
 * @throws StripeError 404 when the object does not exist.
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
 * Removes an object. Objects that refer to it, for example the movement of a refund, stay.
 *
 * @throws StripeError 404 when the object does not exist.
 */
export function removeObject(storage: Storage, id: string): void {
  const { objects } = storage
  storage.transaction(() => {
    findObject(objects, id)
    objects.remove(id)
  })
}

/** @throws StripeError 404 when the object does not exist. */
export function findObject(objects: Storage['objects'], id: string): StoredObject {
  const object = objects.findAny(id)
  if (object === undefined) throw noSuchObject('object', id, 'id')
  return object
}
