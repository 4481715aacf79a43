// Keeps what is derived from a part of a statement: the parts live as long as the process.
export interface Cache<Key, Value> {
  get(key: Key): Value | undefined
  set(key: Key, value: Value): unknown
}

/** The kept value, or the one that is made now. */
export function memo<Key, Value extends object>(
  cache: Cache<Key, Value>,
  key: Key,
  make: () => Value,
): Value {
  const value = cache.get(key) ?? make()
  cache.set(key, value)
  return value
}
