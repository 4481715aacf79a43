// The idempotency keys of the guided tour.

/**
 * In hexadecimal: of random decimal keys one in 30 is refused, because it looks like a card number.
 * Not `randomUUID`, which a page by plain http from another host does not have.
 */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `tour-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
