// Shows how far long work has come: a bar on a terminal, a line for each fifth of it elsewhere.
import { SingleBar } from 'cli-progress'

export interface Progress {
  /** Says what is done from now on. */
  say(line: string): void
  /** Begins work of so many steps; the function returned says how many are done. */
  begin(what: string, steps: number): (done: number) => void
  /** Ends the bar, if there is one, so that the terminal is as it was. */
  end(): void
}

export function progressOn(stream: NodeJS.WriteStream): Progress {
  return stream.isTTY ? barsOn(stream) : linesOn(stream)
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

const LINES_EACH = 5

function linesOn(stream: NodeJS.WriteStream): Progress {
  return {
    say: (line) => void stream.write(`${line}\n`),
    begin(what, steps) {
      let shown = 0
      return (done) => {
        const share = Math.floor((done / steps) * LINES_EACH)
        if (share === shown) return
        shown = share
        stream.write(`${what}: ${Math.floor((share * 100) / LINES_EACH)} %\n`)
      }
    },
    end: () => {},
  }
}
