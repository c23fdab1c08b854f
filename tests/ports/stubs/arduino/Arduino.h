/* SPDX-License-Identifier: BSD-2-Clause */
/* Arduino.h - see README.md: text, streams and a serial port on the host. */
#ifndef STUB_ARDUINO_H
#define STUB_ARDUINO_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include <string>

typedef bool boolean;
inline unsigned long millis() { return 0; }

class String {
public:
    String(const char *text = "") : text(text) { }
    String(const std::string &text) : text(text) { }
    const char *c_str() const { return text.c_str(); }
    unsigned length() const { return (unsigned)text.size(); }
    int indexOf(char c, unsigned from = 0) const { return (int)text.find(c, from); }
    int lastIndexOf(char c) const { return (int)text.rfind(c); }
    String substring(unsigned from, unsigned to = UINT32_MAX) const
    {
        return String(from >= text.size() ? std::string() : text.substr(from, to - from));
    }
    String &operator+=(char c) { text += c; return *this; }
    bool operator==(const char *other) const { return text == other; }

private:
    friend String operator+(const String &a, const char *b) { return String(a.text + b); }
    std::string text;
};

class Print {
public:
    virtual ~Print() { }
    virtual size_t write(uint8_t c) = 0;
    virtual size_t write(const uint8_t *data, size_t size) = 0;
    virtual int availableForWrite() { return 0; }
    virtual void flush() { }
    size_t print(const char *text) { return write((const uint8_t *)text, strlen(text)); }
    size_t print(long number) { return print(std::to_string(number).c_str()); }
    size_t println(const char *text) { return print(text) + print("\r\n"); }
    size_t println(long number) { return print(number) + print("\r\n"); }
};

class Stream : public Print {
public:
    virtual int available() = 0;
    virtual int read() = 0;
    virtual int peek() = 0;
    long parseInt()
    {
        long number = 0;
        for (int c = read(); c >= '0' && c <= '9'; c = read()) {
            number = number * 10 + c - '0';
        }
        return number;
    }

protected:
    unsigned long _startMillis = 0, _timeout = 0;
};

class SerialPort : public Print {
public:
    using Print::write;
    void begin(long) { }
    size_t write(uint8_t c) override { return fwrite(&c, 1, 1, stdout); }
    size_t write(const uint8_t *data, size_t size) override { return fwrite(data, 1, size, stdout); }
};
inline SerialPort Serial;

#endif
