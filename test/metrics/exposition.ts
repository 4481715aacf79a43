// Parses the text format of Prometheus.
interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Exposition {
  /** The kind of each family by name. */
  readonly families: ReadonlyMap<string, string>
  readonly samples: readonly Sample[]
  /** Returns the value of the only sample with this name and at least these labels. */
  readonly value: (name: string, labels?: Readonly<Record<string, string>>) => number | undefined
}

export function parseExposition(text: string): Exposition {
  const families = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', kind = '']) => [name, kind]),
  )
  const samples = [...text.matchAll(/^([a-z_]\w*)(?:\{(.*)\})? (\S+)$/gim)].map(
    ([, name = '', labels = '', value = '']) => ({
      name,
      labels: Object.fromEntries(
        [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = '', content = '']) => [
          label,
          content,
        ]),
      ),
      value: Number(value),
    }),
  )
  return {
    families,
    samples,
    value(name, labels = {}) {
      const found = samples.filter(
        (sample) =>
          sample.name === name &&
          Object.entries(labels).every(([label, wanted]) => sample.labels[label] === wanted),
      )
      if (found.length > 1) throw new Error(`${name} has ${found.length} samples with these labels`)
      return found[0]?.value
    },
  }
}

export async function scrape(url: string, signal?: AbortSignal): Promise<Exposition> {
  const response = await fetch(url, signal === undefined ? {} : { signal })
  if (!response.ok) throw new Error(`${url} answered ${response.status}`)
  return parseExposition(await response.text())
}
