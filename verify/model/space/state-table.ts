// Stores every reached state once, as a row of numbers, with the transition that reached it first.
// Rows are compared in full: equal hashes alone never make two states equal.

const CHUNK = 1 << 16
const LOAD_MAX = 0.6
/** A slot has two numbers. */
const SLOT = 2

const emptySlots = (count: number): Int32Array => new Int32Array(count * SLOT).fill(-1)

export class StateTable {
  readonly #width: number
  readonly #chunks: Int32Array[] = []
  /**
   * Hash table of row numbers, each with its hash: the hash distinguishes most rows without reading
   * them.
   */
  #slots = emptySlots(1 << 16)
  #count = 0
  /** The state from which a state was reached first, and the label of that transition. */
  readonly parents = new NumberList()
  readonly labels = new NumberList()
  /** The next state of the fault-free run. */
  readonly faultFreeNext = new NumberList()

  constructor(width: number) {
    this.#width = width
  }

  get count(): number {
    return this.#count
  }

  /** Returns the number of a new state, or `-number - 1` for a known state. */
  add(row: Int32Array): number {
    if (this.#count * SLOT > this.#slots.length * LOAD_MAX) this.#grow()
    const slots = this.#slots
    const mask = slots.length - 1
    const hash = hashOf(row)
    let slot = (hash * SLOT) & mask
    for (;;) {
      const stored = slots[slot] as number
      if (stored < 0) break
      if (slots[slot + 1] === hash && this.#isAt(stored, row)) return -stored - 1
      slot = (slot + SLOT) & mask
    }
    slots[slot] = this.#count
    slots[slot + 1] = hash
    this.#store(row)
    this.#count += 1
    return this.#count - 1
  }

  row(index: number): Int32Array {
    const chunk = this.#chunks[Math.floor(index / CHUNK)] as Int32Array
    const from = (index % CHUNK) * this.#width
    return chunk.subarray(from, from + this.#width)
  }

  #isAt(index: number, row: Int32Array): boolean {
    const chunk = this.#chunks[Math.floor(index / CHUNK)] as Int32Array
    const from = (index % CHUNK) * this.#width
    for (let place = 0; place < row.length; place += 1) {
      if (chunk[from + place] !== row[place]) return false
    }
    return true
  }

  #store(row: Int32Array): void {
    const place = Math.floor(this.#count / CHUNK)
    this.#chunks[place] ??= new Int32Array(CHUNK * this.#width)
    this.#chunks[place].set(row, (this.#count % CHUNK) * this.#width)
  }

  #grow(): void {
    const before = this.#slots
    const slots = emptySlots(before.length)
    const mask = slots.length - 1
    for (let from = 0; from < before.length; from += SLOT) {
      if ((before[from] as number) < 0) continue
      const hash = before[from + 1] as number
      let slot = (hash * SLOT) & mask
      while ((slots[slot] as number) >= 0) slot = (slot + SLOT) & mask
      slots[slot] = before[from] as number
      slots[slot + 1] = hash
    }
    this.#slots = slots
  }
}

/** A growing list of numbers. */
class NumberList {
  #numbers = new Int32Array(CHUNK)

  set(index: number, number: number): void {
    while (index >= this.#numbers.length) {
      const longer = new Int32Array(this.#numbers.length * 2)
      longer.set(this.#numbers)
      this.#numbers = longer
    }
    this.#numbers[index] = number
  }

  get(index: number): number {
    return this.#numbers[index] ?? 0
  }
}

function hashOf(row: Int32Array): number {
  let mixed = 0x811c9dc5
  for (let place = 0; place < row.length; place += 1) {
    mixed = Math.imul(mixed ^ (row[place] as number), 0x9e3779b1)
    mixed ^= mixed >>> 15
  }
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0x85ebca6b)
  return mixed ^ (mixed >>> 16)
}
