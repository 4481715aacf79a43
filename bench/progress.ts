// Shows how far long work has come: a bar on a terminal, elsewhere a line for each tenth of it, and at least every
// half a minute.
import { SingleBar } from 'cli-progress'

export interface Progress {
  /** Says what is done from now on. */
  say(line: string): void
  /** Begins work of so many steps; the function returned says how many are done. */
  begin(what: string, steps: number): (done: number) => void
  /** Ends the bar, if there is one, so that the terminal is as it was. */
  end(): void
}

export function progressOn(
  stream: Pick<NodeJS.WriteStream, 'write'> & { readonly isTTY?: boolean },
): Progress {
  return stream.isTTY === true ? barsOn(stream as NodeJS.WriteStream) : linesOn(stream)
}

function barsOn(stream: NodeJS.WriteStream): Progress {
  let bar: SingleBar | undefined
  const end = () => {
    bar?.stop()
    bar = undefined
  }
  return {
    // Where a bar stands, the line takes its place; the bar is drawn anew below.
    say: (line) => void stream.write(`${bar === undefined ? '' : CLEAR_LINE}${line}\n`),
    begin(what, steps) {
      end()
      const format = `${what}  [{bar}] {percentage} %  {value} of {total}, {eta_formatted} left`
      const own = new SingleBar({ stream, format, hideCursor: true, clearOnComplete: true })
      own.start(steps, 0)
      bar = own
      return (done) => {
        own.update(done)
        if (done >= steps) end()
      }
    },
    end,
  }
}

const CLEAR_LINE = '\r\u001b[K'

const LINES_EACH = 10
const SILENCE_MAX_MS = 30_000

function linesOn(stream: Pick<NodeJS.WriteStream, 'write'>): Progress {
  let watching: NodeJS.Timeout | undefined
  const end = () => clearInterval(watching)
  return {
    say: (line) => void stream.write(`${line}\n`),
    begin(what, steps) {
      end()
      const beganAt = performance.now()
      let [done, shown] = [0, 0]
      const show = () => {
        watching?.refresh()
        stream.write(`${what}: ${describeProgress(done, steps, performance.now() - beganAt)}\n`)
      }
      watching = setInterval(show, SILENCE_MAX_MS).unref()
      return (now) => {
        done = now
        const share = Math.floor((done / steps) * LINES_EACH)
        if (share !== shown) show()
        shown = share
        if (done >= steps) end()
      }
    },
    end,
  }
}

/** How many of the steps are done, and how long the others take if they are like those. */
export function describeProgress(done: number, steps: number, ms: number): string {
  const counts = `${done} of ${steps}`
  if (done === 0 || done >= steps) return counts
  return `${counts}, ${showTime((ms * (steps - done)) / done)} left`
}

function showTime(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}
