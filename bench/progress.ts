// Shows the progress of long work. On a terminal it is a bar. Elsewhere it is a line after each
// tenth of the work, and at least one every 30 seconds.
import { SingleBar } from 'cli-progress'

export interface Progress {
  /** Prints what starts now. */
  say(line: string): void
  /**
   * Starts work of `steps` steps. Call the returned function with the number of completed steps.
   */
  begin(what: string, steps: number): (done: number) => void
  /** Removes the bar, if there is one, and restores the terminal. */
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
    // The line replaces a visible bar, which is drawn again below it.
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

/** Describes how many steps are done and, extrapolated from them, how long the rest takes. */
function describeProgress(done: number, steps: number, ms: number): string {
  const counts = `${done} of ${steps}`
  if (done === 0 || done >= steps) return counts
  return `${counts}, ${showTime((ms * (steps - done)) / done)} left`
}

function showTime(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}
