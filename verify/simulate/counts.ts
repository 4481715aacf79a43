// Counts by name, and the table that a report shows of them. The fuzzer's report has it too.

export type Counts = Map<string, number>

export function addCount(counts: Counts, name: string, times = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + times)
}

const COUNT_WIDTH = 9

/** The most frequent name first. Of names with the same count, the one that was counted first. */
export function countTable(unit: string, title: string, counts: Counts): string {
  const rows = [...counts].toSorted(([, one], [, other]) => other - one)
  const lines = rows.map(([name, times]) => `${String(times).padStart(COUNT_WIDTH)}  ${name}`)
  return [`${unit.padStart(COUNT_WIDTH)}  ${title}`, ...lines, ''].join('\n')
}
