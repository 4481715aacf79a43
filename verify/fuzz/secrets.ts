// What must come back nowhere, neither in an answer nor in a log: the keys of the run, and the card numbers
// that requests hold.

/** Of every network, as Stripe publishes them for tests. All others would be just as good. */
export const CARD_NUMBERS = [
  '4242424242424242',
  '4000056655665556',
  '5555555555554444',
  '2223003122003222',
  '5105105105105100',
  '378282246310005',
  '371449635398431',
  '6011111111111117',
  '6011981111111113',
  '3056930009020004',
  '36227206271667',
  '3566002020360505',
  '6200000000000005',
] as const

export interface Secrets {
  /** The names of those that a text holds. */
  findIn(text: string): string[]
}

/** @param keys by the names that a report may call them by. */
export function secretsOf(keys: ReadonlyMap<string, string>): Secrets {
  const cards = new RegExp(CARD_NUMBERS.join('|'))
  return {
    findIn(text) {
      const found = [...keys].filter(([, key]) => text.includes(key)).map(([name]) => name)
      // However the digits are set apart: what is no digit goes.
      const hasCard = MAYBE_CARD.test(text) && cards.test(text.replaceAll(/\D+/g, ''))
      return hasCard ? [...found, 'a card number'] : found
    },
  }
}

/** Most texts have no such run of digits, with little between them. */
const MAYBE_CARD = /(?:\d[^0-9A-Za-z]{0,3}){12}/
