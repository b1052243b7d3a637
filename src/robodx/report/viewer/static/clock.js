// The one time that films, drawings, timelines and plots share.

const DRIFT_S = 0.12;

export class Clock {
  constructor() {
    this.time = 0;
    this.end = 0;
    this.rate = 1;
    this.isPlaying = false;
    this.listeners = [];
    this.films = [];
    this.last = 0;
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  // Forget the films of what was shown before; the time stays where it is if it still exists.
  restart(end, films) {
    this.pause();
    this.end = end;
    this.films = films;
    for (const film of films) {
      film.addEventListener("loadedmetadata", () => this.#place(film));
      // A film that was moved by other means, such as a media key, takes the rest along.
      // One that is not shown any more may still be on its way to an earlier time.
      film.addEventListener("seeked", () => {
        if (this.films.includes(film) && !this.isPlaying && this.#isOff(film)) this.seek(film.currentTime);
      });
    }
    this.seek(Math.min(this.time, end));
  }

  seek(time) {
    this.time = Math.max(0, Math.min(time, this.end));
    for (const film of this.films) this.#place(film);
    this.#tell();
  }

  toggle() {
    if (this.isPlaying) this.pause();
    else this.play();
  }

  play() {
    if (this.isPlaying || !this.end) return;
    if (this.time >= this.end - 1e-3) this.seek(0);
    this.isPlaying = true;
    this.last = performance.now();
    for (const film of this.films) this.#start(film);
    requestAnimationFrame((now) => this.#tick(now));
    this.#tell();
  }

  pause() {
    if (!this.isPlaying) return;
    this.isPlaying = false;
    for (const film of this.films) film.pause();
    this.seek(this.time);
  }

  setRate(rate) {
    this.rate = rate;
    for (const film of this.films) film.playbackRate = rate;
  }

  #tick(now) {
    if (!this.isPlaying) return;
    const leader = this.films.find((film) => !film.paused && !film.ended && !film.seeking && film.readyState >= 3);
    const elapsed = Math.max(0, now - this.last) / 1000;
    this.time = leader ? leader.currentTime : this.time + elapsed * this.rate;
    this.last = now;
    for (const film of this.films) {
      if (film === leader) continue;
      if (!film.ended) this.#place(film);
      // One that had ended goes on when the time is moved back.
      if (film.paused && this.time < film.duration - DRIFT_S) this.#start(film);
    }
    if (this.time >= this.end) {
      this.time = this.end;
      this.pause();
    } else {
      this.#tell();
      requestAnimationFrame((later) => this.#tick(later));
    }
  }

  #start(film) {
    film.playbackRate = this.rate;
    // A film may be gone, or no longer shown: the drawing goes on without it.
    film.play().catch(() => {});
  }

  #wanted(film) {
    return Number.isFinite(film.duration) ? Math.min(this.time, film.duration) : this.time;
  }

  #isOff(film) {
    return film.readyState >= 1 && Math.abs(film.currentTime - this.#wanted(film)) > (this.isPlaying ? DRIFT_S : 0.02);
  }

  #place(film) {
    if (this.#isOff(film)) film.currentTime = this.#wanted(film);
  }

  #tell() {
    for (const listener of this.listeners) listener(this.time);
  }
}
