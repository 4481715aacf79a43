// Works through items, several at a time.

/** Each worker takes the next item when it is free. */
export async function inParallel<Item>(
  items: readonly Item[],
  workers: number,
  work: (item: Item, index: number) => Promise<unknown>,
): Promise<void> {
  const queue = items.entries()
  const workThrough = async () => {
    for (const [index, item] of queue) await work(item, index)
  }
  await Promise.all(Array.from({ length: Math.min(workers, items.length) }, workThrough))
}
